"""`define`, and the layer that it returns: a callable on torch tensors with autograd, options and tuning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..graph.errors import DeviceError
from ..kernels.registry import register_operator
from ..runtime.torch_compiler import is_traced_here
from .expr.dtypes import stored
from .expr.errors import ComprehensionInputError, DerivativeError, OptionsError
from .expr.ir import Definition
from .kernel import ComprehensionKernel
from .language.definitions import chosen, formatted, named, parsed
from .language.typecheck import check
from .program.specialise import dry_run
from .run.autograd import TrainedCall, apply
from .run.inputs import as_tensors, check_inputs, ordered, refuse_missing_contents, run_into
from .run.kept_plans import KeptPlans
from .run.output_gradients import check_count, reorderable
from .run.plan import Plan
from .run.reorder import Reorder, selected
from .run.seen_calls import SEEN, SeenCall
from .run.select import Artifacts
from .run.tensor_guards import PLAIN, readable
from .run.watched import is_watched, refuse_transforms
from .schedule.options import Options, OptionsLike, OptionsPair, options_pair
from .torch_library import Operators
from .tune.cache import CacheName
from .tune.tuned import cached_pair, tuned_key
from .tune.tuner import autotune

Result = torch.Tensor | list[torch.Tensor]


def define(
    text: str,
    name: str | None = None,
    training: bool = False,
    backward: str | None = None,
    constants: Mapping[str, object] | None = None,
    *,
    gather: str = "check",
    device: str | None = None,
    reorder_function: Reorder | None = None,
) -> Layer:
    """Makes a layer of a tensor comprehension.

    Args:
        text: one or more definitions. With `constants`, `{name}` is replaced and braces are written twice.
        name: which definition is the forward; may be left out when there is one, beside the backward.
        training: asks for a backward right away: an output without a float type is an error then. A layer whose
            inputs require gradients derives its backward also without. With it the layer returns a list.
        backward: the definition that computes the gradients. It takes the forward's inputs and then the
            gradients of its outputs, and returns one gradient for each input. Left out, it is derived. With it the
            layer returns a list, also of one output, so that `out[0]` is the whole of it.
        constants: values for `str.format` on the text.
        gather: what an index that was read from a tensor does outside of its dimension: `"check"` raises
            `IndexRangeError`, `"clamp"` takes the nearest element.
        device: `"vulkan"` runs CPU tensors on a Vulkan device; left out, the inputs say where.
        reorder_function: takes the list of the outputs' gradients, and gives those that the named backward takes, in
            its order. It is called once, here, and may only select; what it selects is packed with the layer.

    Returns:
        The layer; calling it compiles what is needed for the shapes at hand, once.

    Raises:
        ComprehensionError: one of its subclasses; what is wrong in the text, with line, column and a caret.

    Example:
        >>> import torch, tracepack
        >>> define = tracepack.comprehension.define
        >>> layer = define("def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }")
        >>> layer(torch.ones(2, 3), torch.ones(3, 4)).sum()
        tensor(24.)
    """
    as_list = training or backward is not None
    return Layer(formatted(text, constants), name, training, backward, gather, device, as_list, reorder_function)


class Layer:
    """A tensor comprehension as a callable; made by `define`.

    Attributes:
        text: the text, with constants in place.
        name: of the forward definition.
        gather: `"check"` or `"clamp"`.
        device: `"vulkan"`, or None where the inputs say.
        as_list: whether one output comes as a list too: where it was defined to be trained.
        reordered: the names of the outputs whose gradients the named backward takes; None is all of them in order.
        operator: the name under which `torch.library` knows it.
    """

    def __init__(
        self,
        text: str,
        name: str | None,
        training: bool,
        backward: str | None,
        gather: str = "check",
        device: str | None = None,
        as_list: bool = False,
        reorder: Reorder | Sequence[str] | None = None,
    ) -> None:
        if gather not in ("check", "clamp"):
            raise OptionsError(f"unknown gather {gather!r}", expected="'check' or 'clamp'")
        if device not in (None, "vulkan"):
            raise DeviceError(
                f"a comprehension is defined for no device {device!r}",
                expected="'vulkan' or nothing",
                fix="Leave it out: the layer runs where its inputs are.",
            )
        self.device = device
        self.text, self.gather, self.backward_name = text, gather, backward
        definitions = {d.name: d for d in map(check, parsed(text))}
        self.definition = chosen(definitions, name, backward)
        self.name = self.definition.name
        self._backward = None if backward is None else named(definitions, backward)
        for definition in (self.definition, self._backward):
            if definition is not None:
                dry_run(definition)
        if training and not any(r.dtype.is_float for r in self.definition.returns):
            raise DerivativeError(f"'{self.name}' has no float output to train", at=self.definition.place)
        self._dtypes = [stored(p.dtype) for p in self.definition.params]
        names = [r.name for r in self.definition.returns]
        self._single, self.as_list = len(names) == 1 and not as_list, as_list
        self.reordered = None if reorder is None else selected(reorder, names)
        if self.reordered is not None:
            check_count(reorderable(self._backward, self.name), len(self._dtypes), self.reordered)
        self._order = None if self.reordered is None else [names.index(name) for name in self.reordered]
        self._siblings: dict[tuple[str, ...], Layer] = {}
        self._plans = KeptPlans()
        self._seen: list[SeenCall] = []
        self._tuned: dict[str, list[Options]] = {}
        self._artifacts: Artifacts | None = None
        self._operators = Operators(self, f"tc_{self.name}_{self.key[:12]}{'_list' if as_list else ''}")
        self.operator = self._operators.name
        self._kernel = ComprehensionKernel(self)
        register_operator(self.operator, self._kernel)

    def __deepcopy__(self, memo: dict[int, Any]) -> Layer:
        """A layer of the same text and tuned options; compiled code is loaded anew when it is first called."""
        return self._again(self._artifacts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as what an archive holds: the text, what was chosen, and the options found; no compiled code."""
        return _unpickled, (self._kernel.description(), self.text)

    def _again(self, artifacts: Artifacts | None, reorder: Sequence[str] | None = None) -> Layer:
        more = {} if reorder is None else {"reorder": list(reorder)}
        return _packed(self._kernel.description() | more, self.text, self._tuned, artifacts)

    def __repr__(self) -> str:
        return f"Layer({self.name!r}, {len(self._dtypes)} inputs, {len(self.definition.returns)} outputs)"

    @property
    def key(self) -> str:
        """A name for everything that decides what the layer computes."""
        parts = [self.text, self.name, self.backward_name, self.gather]
        more = [p for p in (self.device, self.reordered) if p]
        return hashlib.sha256(json.dumps([*parts, *more]).encode()).hexdigest()

    @property
    def backward_definition(self) -> Definition | None:
        """The checked named backward."""
        return self._backward

    # -- calling ---------------------------------------------------------------------------------------

    def __call__(
        self,
        /,
        *inputs: Any,
        options: OptionsLike | None = None,
        outputs: torch.Tensor | Sequence[torch.Tensor] | None = None,
        cache: CacheName | None = None,
        reorder_function: Reorder | None = None,
        **named: Any,
    ) -> Result:
        """Runs the layer.

        Args:
            inputs: one for each parameter, of its dtype, all on one device; a parameter without dimensions
                also takes a number. They are made contiguous if they are not.
            named: inputs by their parameters' names, which do not hide the arguments below.
            options: `Options`, a preset's name, or a pair for forward and backward; before the cache, before what
                `autotune` found, before the default.
            outputs: tensors to write into, in order; without gradients.
            cache: a file that `autotune` wrote.
            reorder_function: takes the list of the outputs' gradients, and returns those that the named
                backward takes, in its order. Where the call is recorded it may only select; see `define`.

        Returns:
            The output; a list of outputs where there are several, or where the layer was defined with `training=True`
            or `backward=`.

        Raises:
            ComprehensionError: what does not fit, by one of its subclasses.
        """
        if named:
            inputs = ordered(self.definition, inputs, named)
        if torch.compiler.is_compiling() and is_traced_here():
            return self._recorded_call(inputs, outputs, reorder_function)
        if is_watched():
            refuse_transforms(self.name)
            return self._recorded_call(inputs, outputs, reorder_function)
        plain = options is None and outputs is None and cache is None and reorder_function is None
        if plain and len(inputs) == len(self._dtypes):
            for seen in self._seen:
                if seen.covers(*inputs):
                    train = seen.wanted and torch.is_grad_enabled()
                    return self._run(seen.plan, inputs, seen.call or seen.trained() if train else None)
        return self._slow_call(inputs, options, outputs, cache, reorder_function)

    def _run(self, plan: Plan, inputs: Sequence[torch.Tensor], call: TrainedCall | None) -> Result:
        """Runs a plan on contiguous inputs whose shapes and types are known to fit, or its training."""
        if call is None:
            results = plan.forward(inputs)
            return results[0] if self._single else results
        found = apply(call, *inputs)
        return found if self._single else list(found) if isinstance(found, tuple) else [found]

    def _recorded_call(self, inputs: Sequence[Any], outputs: object, reorder: Reorder | None) -> Result:
        """The call as one operator. Nothing of a tensor is read here, as a recorder would take it for a fact."""
        if outputs is not None:
            raise ComprehensionInputError("outputs= cannot be recorded", where=self.name)
        if reorder is not None:
            return self._sibling(reorder)._recorded_call(inputs, None, None)
        result: Result = self._operators.call(as_tensors(inputs, self._dtypes))
        return result

    def _sibling(self, reorder: Reorder) -> Layer:
        """The layer that takes these gradients for its own."""
        names = selected(reorder, [r.name for r in self.definition.returns])
        if names == self.reordered:
            return self
        if names not in self._siblings:
            self._siblings[names] = self._again(self._artifacts, names)
        return self._siblings[names]

    def _slow_call(
        self,
        inputs: Sequence[Any],
        options: OptionsLike | None,
        outputs: torch.Tensor | Sequence[torch.Tensor] | None,
        cache: CacheName | None,
        reorder: Reorder | None,
    ) -> Result:
        if any(isinstance(t, torch.Tensor) and type(t) not in PLAIN for t in inputs):
            return self._recorded_call(inputs, outputs, reorder)
        tensors = self.check_inputs(inputs)
        plan = self.plan(tensors, options, cache)
        if outputs is not None:
            given: list[Any] = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
            run_into(plan, self.definition, tensors, given)
            return given[0] if self._single else given
        refuse_missing_contents(plan.program, self.name)
        tensors = [readable(t) for t in tensors]
        seen = SeenCall(tensors, plan)
        if options is None and cache is None and reorder is None and all(t.is_cpu for t in tensors):
            self._seen = [seen, *self._seen][:SEEN]
        train = seen.wanted and torch.is_grad_enabled()
        return self._run(plan, tensors, (plan.training(seen.wanted, reorder), reorder) if train else None)

    def check_inputs(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        """The inputs as tensors; shapes are left to the plan.

        Raises:
            ComprehensionInputError: another number of inputs, or one of another type or device.
        """
        return check_inputs(self.definition, inputs)

    # -- plans and options -------------------------------------------------------------------------------

    def plan(
        self, tensors: Sequence[torch.Tensor], options: OptionsLike | None = None, cache: CacheName | None = None
    ) -> Plan:
        """What runs for these inputs and options; compiled once, and kept among those that were used last."""
        shapes = [tuple(t.shape) for t in tensors]
        device = self.runs_on(tensors)
        pair = self._pair(options, cache, shapes, device)
        key = (tuple(shapes), device, pair.key())
        more = device, self.gather == "clamp", pair, self._artifacts, self._order
        return self._plans.get(key, lambda: Plan(self.definition, self._backward, shapes, *more))

    def runs_on(self, tensors: Sequence[torch.Tensor]) -> torch.device:
        """Where a call with these inputs runs: `vulkan` if that was asked for, else where they are."""
        where = tensors[0].device if tensors else torch.device("cpu")
        return torch.device(self.device) if self.device and where.type == "cpu" else where

    def _pair(
        self, options: OptionsLike | None, cache: CacheName | None, shapes: list[tuple[int, ...]], device: torch.device
    ) -> OptionsPair:
        if options is not None:
            return options_pair(options)
        if cache is not None and (found := cached_pair(cache, self.key, self.name, shapes, device)) is not None:
            return found
        tuned = self._tuned.get(tuned_key(shapes, device))
        return options_pair(tuned) if tuned else OptionsPair(Options(), Options())

    def autotune(self, *inputs: Any, **settings: Any) -> Options | list[Options]:
        """Searches for the best options for these inputs; see `tracepack.ops.comprehension.tune.tuner.autotune`."""
        return autotune(self, *inputs, **settings)

    def set_tuned(
        self, shapes: list[tuple[int, ...]], options: list[Options], device: torch.device | None = None
    ) -> None:
        """Uses options for these shapes on a kind of device, the CPU if none is given, from now on."""
        self._tuned[tuned_key(shapes, device or torch.device("cpu"))] = options
        self._seen = []

    @property
    def tuned(self) -> dict[str, list[Options]]:
        """Options by shapes, `[forward]` or `[forward, backward]`; for a GPU its kind comes first, `"cuda:2x3"`."""
        return dict(self._tuned)

    def load_tuned(self, tuned: Mapping[str, list[Options]], artifacts: Artifacts | None) -> None:
        """Takes over options by shapes and compiled artifacts, as a kernel carried them."""
        self._tuned.update(tuned)
        self._artifacts = artifacts

    def kernel(self) -> ComprehensionKernel:
        """The kernel that packs this layer."""
        return self._kernel


def _packed(
    description: Mapping[str, Any], text: str, tuned: dict[str, list[Options]], artifacts: Artifacts | None
) -> Layer:
    """A layer from what its kernel packed."""
    d = description
    layer = Layer(
        text, d["name"], False, d["backward"], d["gather"], d.get("device"), d.get("list", False), d.get("reorder")
    )
    layer.load_tuned(tuned, artifacts)
    return layer


def _unpickled(description: dict[str, Any], text: str) -> Layer:
    tuned = {key: [Options.from_plain(o) for o in options] for key, options in description["tuned"].items()}
    return _packed(description, text, tuned, None)


ComprehensionKernel.layer_of = _packed
