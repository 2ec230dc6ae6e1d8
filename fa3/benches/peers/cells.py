"""The grids: which problems are timed, and how many operations each takes."""

from dataclasses import dataclass

PAPER_LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
QUICK_LENGTHS = (1024, 4096, 16384)


@dataclass(frozen=True)
class Cell:
    """A problem: batch, tokens of queries and of keys, heads of each, head dimensions of Q/K and of V.

    A packed batch has `lens`: sequences of so many tokens, which attend to themselves.
    """

    grid: str
    b: int
    sq: int
    sk: int
    hq: int
    hk: int
    d: int
    dv: int
    dtype: str = "bf16"
    causal: bool = False
    window: tuple = None  # keys to the left and to the right of the diagonal, -1 for all
    lens: tuple = None

    @property
    def op(self):
        return "varlen" if self.lens else "fwd"

    def pairs(self):
        """Pairs of a query and a key that see each other; causal counts as half of all, as papers do."""
        if self.lens:
            return sum(n * n for n in self.lens) * (0.5 if self.causal else 1)
        if self.window:
            return self.b * visible(self.sq, self.sk, self.causal, self.window)
        return self.b * self.sq * self.sk * (0.5 if self.causal else 1)

    def flops(self):
        return 2 * self.hq * self.pairs() * (self.d + self.dv)

    def __str__(self):
        dims = f"d{self.d}" if self.d == self.dv else f"d{self.d}/{self.dv}"
        heads = f"h{self.hq}" if self.hq == self.hk else f"h{self.hq}/{self.hk}"
        tokens = f"lens {list(self.lens)}" if self.lens else f"b{self.b} {self.sq}"
        mask = " causal" if self.causal else ""
        mask += f" window {list(self.window)}" if self.window else ""
        return f"{self.grid}: {self.dtype} {tokens} {heads} {dims}{mask}"


def visible(sq, sk, causal, window):
    """How many pairs a mask leaves of one head, aligned bottom right."""
    left, right = window
    right = 0 if causal else right
    count = 0
    for query in range(sq):
        diagonal = query + sk - sq
        first = max(0, diagonal - left) if left >= 0 else 0
        last = min(sk - 1, diagonal + right) if right >= 0 else sk - 1
        count += max(0, last - first + 1)
    return count


def dense(grid, b, s, h, d, hk=None, dv=None, **options):
    return Cell(grid, b, s, s, h, hk or h, d, dv or d, **options)


def fwd(lengths=PAPER_LENGTHS):
    """The forward grid of the FlashAttention-3 paper: 16k tokens in all, hidden size 2048."""
    return [
        dense("fwd", 16384 // s, s, 2048 // d, d, causal=causal)
        for d in (64, 128, 256)
        for causal in (False, True)
        for s in lengths
    ]


def more_fwd():
    """fp16, and head dimensions that the paper does not have."""
    return [
        dense("fwd", 1, 16384, 16, 128, dtype="fp16"),
        dense("fwd", 4, 4096, 16, 192, dv=128, causal=True),
        dense("fwd", 4, 4096, 20, 96),
    ]


def gqa():
    """Four query heads share a head of K and V; a window at last."""
    shapes = ((4, 2048), (1, 8192), (1, 32768))
    cells = [dense("gqa", b, s, 32, 128, hk=8, causal=causal) for b, s in shapes for causal in (False, True)]
    return cells + [dense("gqa", 1, 8192, 32, 128, hk=8, causal=True, window=(1023, 0))]


def short():
    """Too little for the card, or many short sequences."""
    shapes = ((1, 128), (1, 512), (2, 1024), (32, 128), (64, 256))
    return [dense("short", b, s, 16, 128, causal=causal) for b, s in shapes for causal in (False, True)]


def varlen():
    """Packed batches of 16k tokens: even, skewed and ragged."""
    batches = (
        (4096,) * 4,
        (8192, 4096, 2048, 1024, 512, 256, 128, 128),
        (100, 3000, 77, 5000, 1, 2000, 6000, 206),
    )
    return [
        Cell("varlen", len(lens), max(lens), max(lens), 16, 16, 128, 128, causal=causal, lens=lens)
        for causal in (False, True)
        for lens in batches
    ]


GRIDS = {"fwd": lambda: fwd() + more_fwd(), "gqa": gqa, "short": short, "varlen": varlen}
QUICK = {name + "-quick": lambda make=make: make()[::3] for name, make in GRIDS.items()}
GRIDS.update(QUICK)
GRIDS["fwd-quick"] = lambda: fwd(QUICK_LENGTHS)
