// An image file as a tensor: decoded by the browser, drawn at the size that is wanted, and written as nested lists in
// the tensor's layout.
import { element } from "./elements.js";

const SCALES = {
  "0 to 255": (value) => value,
  "0 to 1": (value) => value / 255,
  "-1 to 1": (value) => value / 127.5 - 1,
  "mean and deviation of ImageNet": (value, channel) => (value / 255 - MEAN[channel]) / DEVIATION[channel],
};
const MEAN = [0.485, 0.456, 0.406, 0];
const DEVIATION = [0.229, 0.224, 0.225, 1];
const CHANNELS = [3, 1, 4];
const MOST_PIXELS = 4096 * 4096; // what is larger would fill the browser's memory as lists

// The layouts of pixels that a tensor may have: those whose channels the signature fixes, else all that it allows.
function layoutsOf(input) {
  if (input.kind !== "tensor" || !/^(uint8|float16|bfloat16|float32|float64)$/.test(input.dtype)) return [];
  const batch = input.shape.length === 4;
  const isFree = (size) => typeof size !== "number";
  if (input.shape.length !== 3 && !(batch && (input.shape[0] === 1 || isFree(input.shape[0])))) return [];
  const [a, b, c] = input.shape.slice(-3);
  const layouts = CHANNELS.flatMap((channels) => [
    { batch, first: true, channels, of: a, height: b, width: c },
    { batch, first: false, channels, of: c, height: a, width: b },
  ]).filter((layout) => layout.of === layout.channels || isFree(layout.of));
  const fixed = layouts.filter((layout) => layout.of === layout.channels);
  return fixed.length ? fixed : layouts.sort((one, other) => one.first - other.first);
}

export const isImage = (input) => layoutsOf(input).length > 0;

const nameOf = (layout) => `${layout.first ? "channels, height, width" : "height, width, channels"}; ${layout.channels} channels`;

export function imageField(input, index) {
  const layouts = layoutsOf(input);
  const row = element("div", { className: "row" });
  const add = (text, id, control) => {
    control.id = `${id}-${index}`;
    row.append(element("label", { textContent: text, htmlFor: control.id }), control);
    return control;
  };
  const select = (names) => element("select", {}, ...names.map((name) => new Option(name, name)));
  const number = () => element("input", { type: "number", min: "1", max: "4096", placeholder: "as it is" });

  const file = add(`Or an image for ${input.name}`, "image", element("input", { type: "file", accept: "image/*" }));
  const scale = input.dtype === "uint8" ? null : add("Values", "scale", select(Object.keys(SCALES)));
  if (scale) scale.value = "0 to 1";
  const kind = layouts.length > 1 ? add("Layout", "layout", select(layouts.map(nameOf))) : null;
  const free = layouts.some((layout) => typeof layout.width !== "number" || typeof layout.height !== "number");
  const width = free ? add("Width", "width", number()) : null;
  const height = free ? add("Height", "height", number()) : null;

  const json = async () => {
    if (!file.files.length) return null;
    const layout = layouts[kind ? kind.selectedIndex : 0];
    const wanted = { width: Number(width?.value ?? 0), height: Number(height?.value ?? 0) };
    const tensor = await tensorOf(file.files[0], layout, wanted, SCALES[scale ? scale.value : "0 to 255"], input.name);
    return JSON.stringify(tensor);
  };
  return { row, json };
}

async function tensorOf(file, layout, wanted, scale, name) {
  const { pixels, width, height } = await pixelsOf(file, layout, wanted, name);
  const at = (y, x, channel) => scale(valueOf(pixels, 4 * (y * width + x), layout.channels, channel), channel);
  const list = (length, make) => Array.from({ length }, (_, index) => make(index));
  const tensor = layout.first
    ? list(layout.channels, (channel) => list(height, (y) => list(width, (x) => at(y, x, channel))))
    : list(height, (y) => list(width, (x) => list(layout.channels, (channel) => at(y, x, channel))));
  return layout.batch ? [tensor] : tensor;
}

async function pixelsOf(file, layout, wanted, name) {
  let image;
  try {
    image = await createImageBitmap(file, { premultiplyAlpha: "none", colorSpaceConversion: "none" });
  } catch {
    throw new Error(`input '${name}': the browser reads no image in ${file.name}`);
  }
  const width = typeof layout.width === "number" ? layout.width : wanted.width || image.width;
  const height = typeof layout.height === "number" ? layout.height : wanted.height || image.height;
  if (width * height > MOST_PIXELS) throw new Error(`input '${name}': the image is too large; got ${width} x ${height}`);
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, width, height);
  return { pixels: context.getImageData(0, 0, width, height).data, width, height };
}

// A single channel is the luma of ITU-R 601.
function valueOf(pixels, place, channels, channel) {
  if (channels > 1) return pixels[place + channel];
  return Math.round(0.299 * pixels[place] + 0.587 * pixels[place + 1] + 0.114 * pixels[place + 2]);
}
