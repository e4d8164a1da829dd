"""What transformers makes of a folder that Hearth wrote: run by a Python that has it, and nothing of Hearth.

`python elsewhere.py FOLDER GIVEN` reads `starts` (tokens [n, length]), `scores` (ours of these), `lines` (UTF-8) and
`said` (a conversation as JSON) of the file GIVEN. As JSON it prints how far scores are apart, greedy continuations, the
tokens of each line, and the conversation as its template writes it, as a text and as tokens.
"""

import json
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

LENGTH = 20


@torch.no_grad()
def main(folder: str, given: str) -> None:
    torch.set_num_threads(1)
    model, loading = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    data = load_file(given)
    tokens = data["starts"]
    apart = float((model(tokens).logits - data["scores"]).abs().max())
    for _ in range(LENGTH):
        tokens = torch.cat((tokens, model(tokens).logits[:, -1].argmax(-1, keepdim=True)), 1)
    lines = bytes(data["lines"].tolist()).decode().split("\0")
    encoded = [tokenizer(line).input_ids for line in lines]
    decoded = [tokenizer.decode(tokens, skip_special_tokens=True) for tokens in encoded]
    said = json.loads(bytes(data["said"].tolist()))
    talk = [tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)]
    talk += [tokenizer.apply_chat_template(said, add_generation_prompt=True, return_dict=False)]
    keys = {name: sorted(map(str, loading[name])) for name in ("missing_keys", "unexpected_keys", "mismatched_keys")}
    told = {"apart": apart, "continued": tokens.tolist(), "encoded": encoded, "same": decoded == lines, "talk": talk}
    print(json.dumps(keys | told | {"kind": type(model).__name__}))


if __name__ == "__main__":
    main(*sys.argv[1:])
