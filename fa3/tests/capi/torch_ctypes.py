"""torch_ctypes.py EXAMPLE LIBRARY: the example's structures and call, on the CPU and without torch."""
import ctypes as c
import importlib.util
import sys

spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


class HostTensor:
    """What the example uses of a torch tensor, row-major."""

    dtype = "torch.float32"

    def __init__(self, shape, values):
        self.shape = shape
        self.data = (c.c_float * len(values))(*values)

    def data_ptr(self):
        return c.addressof(self.data)

    def stride(self):
        _, sequence, heads, dim = self.shape
        return (sequence * heads * dim, heads * dim, dim, 1)


q = HostTensor((1, 2, 2, 2), [1, 0] * 4)
k = HostTensor((1, 2, 1, 2), [0, 1, 0, -1])
v = HostTensor((1, 2, 1, 1), [4, 8])
o = HostTensor((1, 2, 2, 1), [0] * 4)
example.attention(sys.argv[2], "cpu", q, k, v, o)
assert list(o.data) == [4, 4, 6, 6], list(o.data)
try:
    example.attention(sys.argv[2], "gpu", q, k, v, o)
except RuntimeError as error:
    assert "`gpu`" in str(error), error
else:
    raise AssertionError("a device called gpu was opened")
# Every field lies where the program of the header's test found it.
for structure in (example.Tensor, example.Args):
    for name, _ in structure._fields_:
        field = getattr(structure, name)
        print(structure.__name__, name, field.offset, field.size)
    print(structure.__name__, "sizeof", 0, c.sizeof(structure))
