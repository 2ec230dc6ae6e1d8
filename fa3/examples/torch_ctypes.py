"""Attention on torch tensors through libfa3, against torch's own: torch_ctypes.py [LIBRARY [DEVICE]]"""
import ctypes as c
import sys

class Tensor(c.Structure):  # the structures of fa3.h
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32), ("reserved", c.c_int32),
                ("shape", c.c_int64 * 4), ("strides", c.c_int64 * 4)]

class Args(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("flags", c.c_uint32), ("sequences", c.c_int32),
                *((name, Tensor) for name in "qkvo"),
                *((name, c.c_void_p) for name in "lse sinks alibi_slopes used_k cu_q cu_k".split()),
                *((name, c.c_int64) for name in "count max_q max_k window_left window_right".split()),
                ("scale", c.c_float), ("softcap", c.c_float), ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t)]

DTYPES, CAUSAL = {"torch.float16": 1, "torch.bfloat16": 2, "torch.float32": 3}, 1

def tensor(t):  # [batch, sequence, heads, dim]
    return Tensor(t.data_ptr(), DTYPES[str(t.dtype)], 0, tuple(t.shape), tuple(t.stride()))

def attention(path, place, q, k, v, o, stream=None):
    lib = c.CDLL(path)
    lib.fa3_last_error.restype = c.c_char_p
    device, args = c.c_void_p(), Args(c.sizeof(Args), CAUSAL, 0, *map(tensor, (q, k, v, o)))
    failed = lib.fa3_device_open(place.encode(), c.byref(device))
    if failed or lib.fa3_forward(device, c.byref(args), c.c_void_p(stream)):
        raise RuntimeError(lib.fa3_last_error().decode())
    lib.fa3_device_close(device)

if __name__ == "__main__":
    import torch
    path, place = (sys.argv[1:] + ["./libfa3.so", "cuda:0"][len(sys.argv) - 1:])[:2]
    q, k, v = (torch.randn(2, 1000, heads, 128, device=place).bfloat16() for heads in (16, 4, 4))
    attention(path, place, q, k, v, o := torch.empty_like(q), torch.cuda.current_stream().cuda_stream)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    wide = (t.transpose(1, 2).float() for t in (q, k, v))
    error = (sdpa(*wide, is_causal=True, enable_gqa=True).transpose(1, 2) - o.float()).abs().max().item()
    sys.exit(f"too large: {error}" if not error < 0.03 else print("largest difference from torch:", error))
