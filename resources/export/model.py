"""A model that was trained with Hearth, in plain PyTorch: `python model.py` repeats the evaluation beside it.

`Model(folder)(inputs)` gives the scores of all classes: of pictures, floats [n, numbers] -> [n, classes]; of texts,
bytes as whole numbers [n, length] -> [n, length, 256]. It needs torch and safetensors, and nothing of Hearth.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional as F


class Model:
    def __init__(self, folder="."):
        self.sizes = json.loads((Path(folder) / "manifest.json").read_text())["model"]
        self.weights = load_file(Path(folder) / "model.safetensors")

    def linear(self, name, x):
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def attention(self, name, x):
        batch, length, width = x.shape
        heads = self.sizes["heads"]
        pairs = width // heads // 2
        angles = torch.outer(torch.arange(length).float(), 10_000.0 ** (-torch.arange(pairs) / pairs))
        turns = torch.polar(torch.ones_like(angles), angles)
        parts = self.linear(f"{name}.enter", self.norm(f"{name}.norm", x)).view(batch, length, 3, heads, 2 * pairs)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        queries, keys = (torch.view_as_complex(y.unflatten(-1, (-1, 2)).contiguous()) * turns for y in (queries, keys))
        queries, keys = (torch.view_as_real(y).flatten(-2) for y in (queries, keys))
        y = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return x + self.linear(f"{name}.leave", y.transpose(1, 2).flatten(-2))

    def expert(self, name, x):
        if self.sizes["expert"] == "transformer_ffn":
            y = self.linear(f"{name}.leave", F.gelu(self.linear(f"{name}.enter", x), approximate="tanh"))
            return self.norm(f"{name}.norm", x + y)
        y = F.relu(self.norm(f"{name}.enter_norm", self.linear(f"{name}.enter", x)))
        y = F.relu(self.norm(f"{name}.middle_norm", self.linear(f"{name}.middle", y)))
        return x + self.linear(f"{name}.leave", y)

    def mixture(self, layer, x):
        """The mean of the k experts with the best scores; a cell's score is the sum of one score a dimension."""
        scores = torch.zeros(len(x), 1)
        for head in self.linear(f"gates.{layer}.heads", x).split(self.sizes["grid"], 1):
            scores = (scores[:, :, None] + head[:, None]).flatten(1)
        best, cells = scores.topk(self.sizes["k"])
        shares, mixed = best.softmax(1), torch.zeros_like(x)
        for cell in cells.unique().tolist():
            rows, places = (cells == cell).nonzero(as_tuple=True)
            coords = ".".join(str(int(c)) for c in torch.unravel_index(torch.tensor(cell), tuple(self.sizes["grid"])))
            mixed[rows] += shares[rows, places, None] * self.expert(f"experts.{layer}.{coords}", x[rows])
        return mixed

    @torch.no_grad()
    def __call__(self, x):
        kind, layers = self.sizes["kind"], self.sizes["layers"]
        if kind == "mlp":
            return self.linear(
                "segments.0.4", self.linear("segments.0.2", self.linear("segments.0.0", x).relu()).relu()
            )
        for layer in range(layers):
            if kind == "transformer_dmoe":
                x = F.embedding(x.long(), self.weights["segments.0.0.weight"]) if layer == 0 else x
                x = self.attention("segments.0.1" if layer == 0 else f"segments.{layer}", x)
            else:
                x = self.linear("segments.0", x) if layer == 0 else self.norm(f"segments.{layer}", x)
            x = self.mixture(layer, x.flatten(0, -2)).view_as(x)
        return self.linear(f"segments.{layers}.1", self.norm(f"segments.{layers}.0", x))


def evaluate(folder="."):
    """Loss (nats) and share of right answers on `held_out.safetensors`, some of what it was never trained on."""
    model, data, loss, right = Model(folder), load_file(Path(folder) / "held_out.safetensors"), 0.0, 0
    labels = data["labels"].long()
    for inputs, wanted in zip(data["inputs"].split(64), labels.split(64), strict=True):
        scores, wanted = model(inputs).flatten(0, -2), wanted.flatten()
        loss += float(F.cross_entropy(scores, wanted, reduction="sum"))
        right += int((scores.argmax(-1) == wanted).sum())
    return {"loss": loss / labels.numel(), "accuracy": right / labels.numel()}


if __name__ == "__main__":
    print(json.dumps(evaluate(Path(__file__).parent)))
