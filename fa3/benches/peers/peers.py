"""The other programs, called through torch. Each class is one; `cell` in `call` is a `cells.Cell`.

A peer that cannot be imported raises in its constructor, and one that does not take a cell raises
`Unsupported` in `call`: both say why, and the results keep it.
"""

import importlib.metadata
import math
import os


class Unsupported(Exception):
    """The peer does not take this problem."""


def cumulative(torch, lens):
    ends = [0]
    for n in lens:
        ends.append(ends[-1] + n)
    return torch.tensor(ends, device="cuda", dtype=torch.int32)


def tensors(torch, cell):
    """Q, K and V, standard normal: [batch, tokens, heads, dim], or [tokens, heads, dim] when packed."""
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[cell.dtype]
    if cell.lens:
        total = sum(cell.lens)
        shapes = ((total, cell.hq, cell.d), (total, cell.hk, cell.d), (total, cell.hk, cell.dv))
    else:
        shapes = (
            (cell.b, cell.sq, cell.hq, cell.d),
            (cell.b, cell.sk, cell.hk, cell.d),
            (cell.b, cell.sk, cell.hk, cell.dv),
        )
    return [torch.randn(*shape, device="cuda", dtype=dtype) for shape in shapes]


class Fa3:
    """FlashAttention-3 as vLLM builds it: the torch extension whose path is in FA3_SO."""

    # A replayed causal call of this build faults.
    graphs = False

    def __init__(self, torch):
        self.torch = torch
        path = os.environ.get("FA3_SO")
        if not path:
            raise ImportError("FA3_SO is not set; it names vLLM's _vllm_fa3_C.abi3.so")
        torch.ops.load_library(path)
        self.forward = torch.ops._vllm_fa3_C.fwd
        self.version = os.environ.get("FA3_VERSION", os.path.basename(path))

    def call(self, cell):
        q, k, v = tensors(self.torch, cell)
        if cell.lens:
            cu_q = cu_k = cumulative(self.torch, cell.lens)
        else:
            # A dense batch is packed sequences of one length.
            cu_q = cumulative(self.torch, [cell.sq] * cell.b)
            cu_k = cumulative(self.torch, [cell.sk] * cell.b)
            q, k, v = (t.flatten(0, 1) for t in (q, k, v))
        left, right = cell.window or (-1, -1)
        # In the order of its schema; what is None is: new keys and values, the output to write to, lengths
        # used, page table, rotary tables, descaling factors, scheduler metadata, sinks.
        return lambda: self.forward(
            q, k, v, None, None, None, None, cu_q, cu_k, None, None, None, cell.sq, cell.sk,
            None, None, None, None, None, None, None, None, None,
            1 / math.sqrt(cell.d), cell.causal, left, right, 0.0, True, None, 1, None, 0, None, 1, 0, None,
        )


class Fa4:
    """FlashAttention-4, the CuTe kernels of package flash-attn-4."""

    graphs = True

    def __init__(self, torch):
        from flash_attn.cute import flash_attn_func, flash_attn_varlen_func

        self.torch = torch
        self.dense, self.packed = flash_attn_func, flash_attn_varlen_func
        self.version = importlib.metadata.version("flash-attn-4")

    def call(self, cell):
        q, k, v = tensors(self.torch, cell)
        options = {"causal": cell.causal and not cell.window}
        if cell.window:
            options["window_size"] = tuple(None if side < 0 else side for side in cell.window)
        if not cell.lens:
            return lambda: self.dense(q, k, v, **options)
        cu, longest = cumulative(self.torch, cell.lens), max(cell.lens)
        options.update(cu_seqlens_q=cu, cu_seqlens_k=cu, max_seqlen_q=longest, max_seqlen_k=longest)
        return lambda: self.packed(q, k, v, **options)


class Sdpa:
    """A backend of torch's scaled_dot_product_attention."""

    graphs = True

    def __init__(self, torch, backend):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        self.torch, self.select = torch, sdpa_kernel
        self.backend = getattr(SDPBackend, backend)

    def call(self, cell):
        if cell.lens:
            raise Unsupported("torch's function takes no packed sequences")
        if cell.window:
            raise Unsupported("torch's function takes no window")
        q, k, v = (t.transpose(1, 2) for t in tensors(self.torch, cell))
        attention = self.torch.nn.functional.scaled_dot_product_attention
        options = {"is_causal": cell.causal, "enable_gqa": cell.hq != cell.hk}

        def forward():
            with self.select(self.backend):
                return attention(q, k, v, **options)

        return forward


class Cudnn(Sdpa):
    """cuDNN, through torch."""

    def __init__(self, torch):
        super().__init__(torch, "CUDNN_ATTENTION")
        number = torch.backends.cudnn.version()
        self.version = f"{number // 10000}.{number // 100 % 100}.{number % 100}, torch {torch.__version__}"


class Fa2(Sdpa):
    """FlashAttention-2, through torch."""

    def __init__(self, torch):
        super().__init__(torch, "FLASH_ATTENTION")
        self.version = f"torch {torch.__version__}"


PEERS = {"fa3": Fa3, "fa4": Fa4, "cudnn": Cudnn, "fa2": Fa2}


def load(names):
    """The peers of these names that are here, and why the others are not."""
    found, missing = {}, {}
    if not names:
        return found, missing
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no CUDA device")
    except ImportError as error:
        return found, {name: str(error) for name in names}
    for name in names:
        try:
            found[name] = PEERS[name](torch)
        except Exception as error:  # Whatever a library raises where it does not fit this machine.
            missing[name] = f"{type(error).__name__}: {error}"
    return found, missing
