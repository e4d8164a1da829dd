"""Asking the model: predict, generate."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image, ImageChops, UnidentifiedImageError

from core.commands import common
from core.contracts.control import PICTURE_SIDE, QUESTION_S, Continued, GenerateParams, Prediction
from core.contracts.errors import PictureError, QuestionError
from core.logs import printable

PICTURE_BYTES = 20 << 20
"""A larger file is no picture of a digit."""
PICTURE_PIXELS = 50_000_000
LIMITS = {
    "prompt": "The text may have 65,536 characters.",
    "length": "The length is 1 to 10,000.",
    "temperature": "The temperature is 0 to 10.",
    "top_p": "--top-p is more than 0, and 1 at most.",
    "stop": "--stop may be given 16 times, each time with 1 to 256 characters.",
    "seed": "The seed is 0 to 2,147,483,647.",
}
"""Of what may be asked, as `GenerateParams` has them."""


def predict(options: argparse.Namespace) -> None:
    with common.client(options) as client:
        answer = client.call("predict", read_picture(options.file) | {"run": options.run}, Prediction, QUESTION_S)
    if options.json:
        common.print_json(answer)
        return
    if not answer.learnt:
        print(f"Not trained yet: the model guesses no better than chance (step {answer.step:,}).")
        return
    digit = max(range(len(answer.probabilities)), key=lambda index: answer.probabilities[index])
    accuracy = "" if answer.accuracy is None else f", {answer.accuracy:.1%} correct on unseen digits"
    article = "an" if digit == 8 else "a"
    print(f"Looks like {article} {digit}, {answer.probabilities[digit]:.1%} sure (step {answer.step:,}{accuracy}).")


def generate(options: argparse.Namespace) -> None:
    """The text goes to stdout as it comes, what is to be said about it to stderr: on a terminal also how far it is."""
    count, began, waits = 0, 0.0, not options.json and sys.stderr.isatty()
    counts = waits and not sys.stdout.isatty()

    def clear() -> None:
        if waits:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def show(piece: dict[str, Any]) -> None:
        nonlocal count, began
        began = began or time.monotonic()
        if not count:
            clear()
            print("" if options.json else options.prompt, end="")  # not before: what is refused has no text
        count += 1
        if options.json:
            print(msgspec.json.encode(piece).decode(), flush=True)
        else:
            print(printable(piece["text"]), end="", flush=True)
        if counts:
            rate = f", {(count - 1) / (time.monotonic() - began):.0f} per second" if count > 1 else ""
            print(f"\r{count} of {options.length}{rate}\x1b[K", end="", file=sys.stderr, flush=True)

    limits = {name: getattr(options, name) for name in ("length", "temperature", "top_p", "stop", "seed", "run")}
    asked = {"prompt": options.prompt, **limits}
    for name in asked:
        try:
            msgspec.convert({"prompt": "", name: asked[name]}, GenerateParams)
        except msgspec.ValidationError as error:
            raise QuestionError(LIMITS.get(name) or f"The model cannot be asked that: {error}.") from error
    params = msgspec.convert(asked, GenerateParams)
    with common.client(options) as client:
        if waits:
            print("Waiting for the model.", end="", file=sys.stderr, flush=True)
        try:
            done = client.call("generate", params, Continued, QUESTION_S, show)
        finally:
            if counts or not count:
                clear()
    if not options.json:
        print(f"{'' if count else options.prompt}{printable(done.rest)}", flush=True)
    unseen = "" if done.bits is None else f", {done.bits:.2f} bits per byte on unseen text"
    about = f"{done.written} {done.unit} in {done.seconds:.1f} s, step {done.step:,}{unseen}, --seed {done.seed}"
    if not done.learnt:
        about += "\nNot trained yet: what the model adds is no better than chance."
    print(msgspec.json.encode(done).decode() if options.json else about, file=None if options.json else sys.stderr)


def read_picture(path: Path) -> dict[str, Any]:
    """The parameters of a prediction request for a PNG file: grey, ink 255, at most 256 pixels a side.

    Raises:
        PictureError: missing, too large, or no PNG.
    """
    Image.MAX_IMAGE_PIXELS = None  # the limit below is told in a sentence, and holds before anything is unpacked
    try:
        if path.stat().st_size > PICTURE_BYTES:
            raise PictureError(f"{path} is larger than {PICTURE_BYTES >> 20} MB: no picture of a digit.")
        with Image.open(path, formats=["PNG"]) as image:
            if image.width * image.height > PICTURE_PIXELS:
                raise PictureError(f"{path} has {image.width} x {image.height} pixels: too many for a digit.")
            paper = Image.new("RGBA", image.size, "white")
            paper.alpha_composite(image.convert("RGBA"))
    except FileNotFoundError:
        raise PictureError(f"There is no file {path}.") from None
    except (UnidentifiedImageError, SyntaxError, ValueError):
        raise PictureError(f"{path} is not a PNG picture that can be read.") from None
    except OSError as error:
        raise PictureError(f"{path} cannot be read: {error.strerror or error}.") from None
    grey = paper.convert("L")
    corners = [grey.crop((x, y, x + 1, y + 1)).tobytes()[0] for x in (0, grey.width - 1) for y in (0, grey.height - 1)]
    if sorted(corners)[2] > 127:  # most corners are light: dark ink on light paper
        grey = ImageChops.invert(grey)
    grey.thumbnail((PICTURE_SIDE, PICTURE_SIDE))
    return {"width": grey.width, "height": grey.height, "pixels": grey.tobytes()}
