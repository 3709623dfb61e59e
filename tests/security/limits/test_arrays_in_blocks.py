"""Arrays of numpy in blocks of forged files: no memory but their own, no files, no objects, and nothing too large."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tracepack
from tests.security.forge import one_node
from tracepack.ops.graph.errors import GraphError, GuardError
from tracepack.ops.runtime.primitives.plain_code.arrays import block_arrays
from tracepack.ops.runtime.primitives.plain_code.running import block_of, plain_code

NO_METHOD = (
    "tofile", "tobytes", "dump", "dumps", "ctypes", "data", "base", "setflags", "view", "resize", "strides", "flags",
    "getfield", "setfield", "byteswap", "newbyteorder", "flat", "device", "choose", "partition", "tostring", "itemset",
)  # fmt: skip


@pytest.mark.parametrize("name", NO_METHOD)
@pytest.mark.parametrize("text", ["T0.{}", "T0[0].{}", "T0.copy().{}", "numpy.float64(1).{}"])
def test_a_method_that_reaches_memory_or_files_is_none_of_a_block(name, text):
    with pytest.raises((GraphError, GuardError, AttributeError)) as caught:
        block_of(f"def block(T0):\n return {text.format(name)}").run((np.ones(2),))
    assert repr(name) in str(caught.value) or f"got {name}" in str(caught.value)


NO_FUNCTION = (
    "load", "save", "savez", "loadtxt", "savetxt", "genfromtxt", "fromfile", "frombuffer", "fromstring", "memmap",
    "ndarray", "lib", "core", "ctypeslib", "testing", "f2py", "random", "vectorize", "frompyfunc", "apply_along_axis",
    "apply_over_axes", "fromfunction", "fromiter", "piecewise", "copyto", "put", "place", "putmask", "fill_diagonal",
    "dtype", "errstate", "seterr", "seterrcall", "setbufsize", "set_printoptions", "array2string", "require", "resize",
    "object_", "str_", "void", "bytes_", "datetime64", "record", "rec", "nditer", "broadcast", "info", "show_config",
)  # fmt: skip


@pytest.mark.parametrize("name", NO_FUNCTION)
def test_a_function_of_numpy_that_is_not_listed_is_none_of_a_block(name):
    with pytest.raises(GuardError, match=f"uses numpy.{name}$|uses numpy.{name}[;.]"):
        block_of(f"def block(T0):\n return numpy.{name}").run((np.ones(2),))


REFUSED = {
    "a result by its name": ("numpy.add(T0, 1, out=T0)", "got out="),
    "a result by its place": ("numpy.add(T0, 1, T0)", "got out="),
    "a result of one argument": ("numpy.sqrt(T0, T0)", "got out="),
    "a result of a function in Python": ("numpy.sum(T0, 0, None, T0)", "got out="),
    "a result of a function of C": ("numpy.concatenate([T0, T0], 0, T0)", "got out="),
    "a result that is cut": ("numpy.fix(T0, T0)", "got out="),
    "a result of a method": ("T0.sum(0, None, T0)", "got out="),
    "a result of a method by its name": ("T0.clip(0, 1, out=T0)", "got out="),
    "a result of a number's method": ("T0[0].max(None, T0)", "got out="),
    "a result of a product": ("T0.dot(T0, T0[0])", "got out="),
    "elements without a value": ("numpy.add(T0, 1, where=T0 > 5)", "got where="),
    "a pad without values": ("numpy.pad(T0, 9, 'empty')", "numpy was given a text"),
    "a write of what is given": ("numpy.nan_to_num(T0, copy=False)", "got copy="),
    "the same by its place": ("numpy.nan_to_num(T0, False)", "got copy="),
    "an overwritten input": ("numpy.median(T0, overwrite_input=True)", "got overwrite_input="),
    "objects": ("numpy.array([None, 1])", "an array of objects"),
    "objects by their dtype": ("numpy.zeros(2, 'O')", "numpy was given a text"),
    "objects by a conversion": ("T0.astype('object')", "numpy was given a text"),
    "objects of an operator": ("T0 - [10**30, 1]", "an array of object"),
    "objects of a product": ("T0 * [10**30, 1]", "an array of object"),
    "fields": ("numpy.zeros(2, 'i4,i4')", "numpy was given a text"),
    "texts": ("numpy.zeros(2, 'U9')", "numpy was given a text"),
    "texts in a list": ("numpy.array(['a', 'b'])", "numpy was given a text"),
    "a text": ("numpy.array('C')", "an array of <U1"),
    "dates": ("numpy.zeros(2, 'M8[s]')", "numpy was given a text"),
    "long numbers": ("numpy.zeros(2, 'longdouble')", "numpy made an array of"),
    "bytes in another order": ("numpy.zeros(2, '>i4')", "numpy made an array of"),
    "a function that is called": ("numpy.pad(T0, 1, lambda *a: 1)", "is given a function"),
    "a class that is none of numbers": ("numpy.zeros(2, dict)", "is given a"),
    "a subclass": ("numpy.array(T0, subok=True)", "got subok="),
    "another package": ("numpy.zeros(2, like=T0)", "got like="),
    "a tensor": ("numpy.asarray(torch.ones(2))", "is given a Tensor"),
    "a tensor over an array": ("torch.as_tensor(T0)", "called with an array"),
    "a dtype's fields": ("T0.dtype.fields", "got fields"),
    "a dtype's class": ("T0.dtype.type", "got type"),
    "a method of a class": ("numpy.float64.fromhex", "got fromhex"),
    "many numbers in a list": ("numpy.zeros(1 << 25).tolist()", "a list grows too large"),
    "many numbers in a list of it": ("list(numpy.zeros(1 << 25))", "a list grows too large"),
    "many copies": ("numpy.repeat(T0, 1 << 40)", "an argument is too large"),
    "the place of an array in a text": ("str(T0)", "can be made a text"),
}


@pytest.mark.parametrize(("code", "named"), REFUSED.values(), ids=REFUSED)
def test_a_block_does_nothing_to_arrays_beyond_its_list(code, named):
    given = np.ones(2)
    with pytest.raises((GuardError, GraphError)) as caught:
        block_of(f"def block(T0):\n return {code}").run((given,))
    assert named in str(caught.value)
    assert given.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["shape", "dtype", "strides", "data", "flat", "real"])
def test_a_block_sets_no_attribute_of_an_array(name):
    with pytest.raises((GuardError, GraphError), match=f"sets an attribute of a ndarray|got {name}"):
        block_of(f"def block(T0):\n a = T0.copy()\n a.{name} = a\n return a").run((np.ones(2),))


WRITES = {
    "an item": "T0[0] = 5",
    "in place": "a = T0\n a += 1",
    "an item in place": "T0[0] += 1",
    "a view": "T0[1:][0] = 5",
    "a row that is gone through": "for row in T0.reshape(1, 2): row[0] = 5",
    "another shape": "T0.reshape(2, 1)[0] = 5",
    "a transposed one": "T0.T[0] = 5",
    "its real part": "T0.real[0] = 5",
    "an array of it": "numpy.asarray(T0)[0] = 5",
    "an array that is no copy": "numpy.array(T0, copy=None)[0] = 5",
    "a type that it has": "T0.astype('float64', copy=False)[0] = 5",
    "sorted": "T0.sort()",
    "filled": "T0.fill(5)",
    "put": "T0.put([0], [5])",
    "one in a list": "G1[0][0] = 5",
    "the memory of a tensor": "T2.numpy()[0] = 5",
    "the memory of a tensor's view": "T2[1:].numpy()[0] = 5",
    "a tensor in place by numpy": "a = T2.numpy()\n a += 1",
}


@pytest.mark.parametrize("code", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("metered", [False, True])
def test_a_block_writes_to_no_memory_that_it_was_given(code, metered):
    array, inner, tensor = np.array([1.0, 0.5]), np.array([1.0, 0.5]), torch.tensor([1.0, 0.5])
    with pytest.raises(GuardError, match="writes to an array that is not its own"):
        block_of(f"def block(T0, G1, T2):\n {code}\n return 1", metered).run((array, [inner], tensor))
    assert array.tolist() == inner.tolist() == tensor.tolist() == [1.0, 0.5]


def test_what_a_block_makes_holds_no_memory_of_others():
    large = np.full(1 << 16, 7.0)
    del large
    code = "def block(x):\n return numpy.empty(x), numpy.empty_like(numpy.ones(x))"
    for made in block_of(code).run((1 << 16,)):
        assert not made.any()


def test_an_array_that_a_file_says_is_new_is_none_that_was_given():
    kind = ["tuple", ["array", "float64", 1, "own"]]
    x = np.ones(3)
    (found,) = plain_code("def block(T0):\n return (T0 + 1,)", kind, x)
    assert found.tolist() == [2.0, 2.0, 2.0]
    for code in ("T0", "T0[1:]", "numpy.asarray(T0)"):
        with pytest.raises(GuardError, match="another kind of value.*an array that it was given"):
            plain_code(f"def block(T0):\n return ({code},)", kind, x)


HUNGRY = {
    "an array of a size": "return numpy.zeros((10**9,))",
    "ones": "return numpy.ones(1 << 24)",
    "copies": "a = []\n while True: a.append(numpy.ones(1000) * 2)",
    "differences": "a = []\n while True: a.append(T - 1)",
    "quotients": "a = []\n while True: a.append(T / 3)",
    "comparisons": "a = []\n while True: a.append(T > 3)",
    "negated": "a = []\n while True: a.append(-T)",
    "products": "a = []\n while True: a.append(T.reshape(-1, 1) @ T.reshape(1, -1))",
    "chosen items": "a = []\n while True: a.append(T[[0] * 1000])",
    "methods": "a = []\n while True: a.append(T.copy())",
    "tiles": "return numpy.tile(T, (1 << 14, 2))",
}


@pytest.mark.parametrize("code", HUNGRY.values(), ids=HUNGRY)
def test_a_budget_of_memory_ends_a_block_of_arrays(code):
    text = f"def block():\n T = numpy.ones(1000)\n {code}"
    mod = tracepack.load(one_node("py.plain_code", text, "any"), budget={"bytes": 1 << 24, "seconds": 60})
    with pytest.raises(tracepack.BudgetError, match="takes more memory than its budget"):
        mod(torch.rand(2))


def test_a_budget_counts_no_views():
    text = "def block():\n T = numpy.ones(1000)\n for i in range(9000): a = T[1:]\n return a.size"
    mod = tracepack.load(one_node("py.plain_code", text, "any"), budget={"bytes": 1 << 24, "seconds": 60})
    assert mod(torch.rand(2)) == 999


def test_each_name_of_the_lists_is_one_of_numpy_and_writes_nothing_by_its_place():
    for module, names in block_arrays.FUNCTIONS.items():
        assert all(callable(block_arrays.function(module, name)) for name in names)
    array = np.ones((2, 2))
    for name in (*block_arrays.METHODS, *block_arrays.WRITING):
        assert hasattr(array, name) or hasattr(array[0, 0], name), name
