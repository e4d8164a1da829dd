"""What llama.cpp makes of a file that Hearth wrote: run by a Python that has llama-cpp-python, and nothing of Hearth.

`python in_llama_cpp.py FILE GIVEN` reads `starts` (prompts, as tokens), `texts` (tokens) and `lines` of GIVEN, a JSON
file. As JSON it prints greedy continuations, the loss of the texts in nats a token, the tokens of each line, and the
file's chat template. Numbers kept of former tokens have the form that the file's name says: f32 or, as is usual, f16.
"""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from llama_cpp import Llama

LENGTH = 20
F32, F16 = 0, 1
"""Of ggml's types."""
CONTEXT = 256


def main(file: str, given: str) -> None:
    """Print it."""
    kept = F32 if file.endswith("-f32.gguf") else F16
    model = Llama(
        file,
        n_ctx=CONTEXT,
        logits_all=True,
        type_k=kept,
        type_v=kept,
        flash_attn=False,
        n_threads=1,
        n_threads_batch=1,
        verbose=False,
    )
    data = json.loads(Path(given).read_text("utf8"))
    told = {
        "continued": [continued(model, tokens) for tokens in data["starts"]],
        "loss": sum(losses := [loss for tokens in data["texts"] for loss in losses_of(model, tokens)]) / len(losses),
        "encoded": [model.tokenize(line.encode(), add_bos=True, special=False) for line in data["lines"]],
        "decoded": [model.detokenize(model.tokenize(line.encode(), False)).decode() for line in data["lines"]],
        "template": model.metadata.get("tokenizer.chat_template"),
    }
    print(json.dumps(told))


def continued(model: Any, tokens: list[int]) -> list[int]:
    """A prompt and the likeliest tokens after it."""
    model.reset()
    added = model.generate(tokens, temp=0.0, top_k=1, repeat_penalty=1.0)
    return [*tokens, *itertools.islice(added, LENGTH)]


def losses_of(model: Any, tokens: list[int]) -> list[float]:
    """Nats of each token but the first."""
    model.reset()
    model.eval(tokens)
    scores = np.array(model.scores[: len(tokens) - 1], np.float64)
    sums = np.log(np.exp(scores - scores.max(-1, keepdims=True)).sum(-1)) + scores.max(-1)
    found: list[float] = (sums - scores[np.arange(len(tokens) - 1), tokens[1:]]).tolist()
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
