"""Replaces a layer of a small model by a kernel of a bundle, and compares.

    python runtime/examples/python/linear.py BUNDLE [cuda|emulator]

On the emulator the model is one of f32 on the CPU, on a GPU one of bf16. Exits with 1 where the
two differ by more than rounding.
"""

import sys

import torch

import tilewright
from tilewright.nn import replace


class Block(torch.nn.Module):
    """A feed-forward block with a residual."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.up = torch.nn.Linear(features, hidden)
        self.down = torch.nn.Linear(hidden, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(x)))


def main() -> int:
    path, device = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "cuda"
    bundle = tilewright.open(path, device=device)
    torch.manual_seed(0)
    on_gpu = device.startswith("cuda")
    features, hidden = (1024, 4096) if on_gpu else (64, 128)
    dtype = torch.bfloat16 if on_gpu else torch.float32
    place = {"device": "cuda" if on_gpu else "cpu", "dtype": dtype}
    model = Block(features, hidden).to(**place).eval()
    x = torch.randn(2, 9, features, **place)
    with torch.no_grad():
        wanted = model(x)
        replaced = replace(model, bundle, lambda name, layer: name == "up")
        got = model(x)
    print(model)
    error = (got.double() - wanted.double()).abs().max().item()
    allowed = 64 * torch.finfo(dtype).eps * wanted.double().abs().max().item()
    print(f"{replaced}: the greatest difference is {error:.3g}, allowed is {allowed:.3g}")
    return 0 if error <= allowed else 1


if __name__ == "__main__":
    sys.exit(main())
