"""Tokens per second of the generation engine against `transformers` `generate` on the same weights.

Both continue 128 prompts from the same weights at temperature 1 without truncation, each to the same number of new
tokens, on one thread of one process. Three loads:

    episodes    lengths from half to one and a half of `--prompt`, nothing in common: live episodes at one moment
    groups      the same lengths, but eight episodes share each prompt, as in group-relative reinforcement learning
    equal       all of one length, nothing in common: what suits `generate` best, since it needs no padding and no mask

Repeats alternate, so that whatever else the machine does falls on both, and time is the processor time of the process,
which on an idle machine is the time on the wall. A figure is a ratio of medians; the ratio of each pair stands beside
it. Computing the prompts is part of the time of both sides; the engine is given the weights anew before each repeat,
which drops whatever it has cached.

    OMP_NUM_THREADS=1 python benchmarks/generation.py --write     # also writes benchmarks/results/generation.json
"""

import argparse
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import transformers

import makerspace.policy.hf  # noqa: F401  (registers the smeared class)
from makerspace.policy.config import TIERS
from makerspace.policy.engine import Engine
from makerspace.policy.interchange import save_pretrained
from makerspace.policy.model import Apprentice

RESULT = Path(__file__).parent / "results" / "generation.json"
GROUP = 8
LOADS = ("episodes", "groups", "equal")


def main() -> None:
    """Measures, prints, and writes if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", default="nano", choices=sorted(TIERS))
    parser.add_argument("--live", type=int, default=128, help="episodes at once")
    parser.add_argument("--prompt", type=int, default=256, help="tokens of a prompt, in the mean")
    parser.add_argument("--new", type=int, default=64, help="tokens to generate for each episode")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loads", nargs="+", default=LOADS, choices=LOADS)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    figures = measure(args)
    print(json.dumps(figures, indent=2))
    if args.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(figures, indent=2) + "\n")


def measure(args: argparse.Namespace) -> dict[str, object]:
    """Builds both sides on one set of weights and returns the figures of each load."""
    model = Apprentice(TIERS[args.tier], seed=0)
    with tempfile.TemporaryDirectory() as directory:
        save_pretrained(model, directory)
        other = transformers.AutoModelForCausalLM.from_pretrained(directory)
    engine = Engine(model, [], slots=args.live, max_length=args.prompt * 3 // 2 + args.new)
    settings = {name: getattr(args, name) for name in ("tier", "live", "prompt", "new", "repeats")}
    versions = {
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }
    return {
        "what": "generated tokens per second of processor time: engine against transformers generate",
        "settings": {**settings, "threads": 1, "parameters": model.config.parameters()},
        "versions": versions,
        "loads": {load: compare(load, args, model, engine, other) for load in args.loads},
    }


def compare(load: str, args, model: Apprentice, engine: Engine, other) -> dict[str, object]:
    """Alternates both sides on one load."""
    prompts = make_prompts(load, args, model.config.vocab_size)
    sides = {
        "engine": lambda: with_engine(engine, prompts, args.new),
        "transformers": lambda: with_generate(other, prompts, args.new),
    }
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for repeat in range(args.repeats + 1):
        for name, side in sides.items():
            engine.load_weights(model.state_dict())
            taken = timed(side, args.live * args.new)
            seconds[name] += [taken] if repeat else []  # the first pair warms up
    rates = {name: args.live * args.new / statistics.median(times) for name, times in seconds.items()}
    pairs = zip(seconds["transformers"], seconds["engine"], strict=True)
    return {
        "tokens_per_second": {name: round(rate) for name, rate in rates.items()},
        "ratio": round(rates["engine"] / rates["transformers"], 2),
        "ratio_of_each_pair": [round(theirs / ours, 2) for theirs, ours in pairs],
    }


def timed(side: Callable[[], int], expected: int) -> float:
    """Returns the processor seconds of a run, which must make as many tokens as expected."""
    begin = time.process_time()
    tokens = side()
    taken = time.process_time() - begin
    assert tokens == expected, f"{tokens} tokens instead of {expected}"
    return taken


def make_prompts(load: str, args: argparse.Namespace, vocab: int) -> list[list[int]]:
    """Random prompts; those that are to have nothing in common begin with different ids."""
    generator = torch.Generator().manual_seed(0)
    count = args.live // GROUP if load == "groups" else args.live
    low, high = (args.prompt, args.prompt) if load == "equal" else (args.prompt // 2, args.prompt * 3 // 2)
    lengths = torch.randint(low, high + 1, (count,), generator=generator).tolist()
    bodies = [torch.randint(0, vocab, (length - 1,), generator=generator).tolist() for length in lengths]
    prompts = [[i % vocab, *body] for i, body in enumerate(bodies)]
    return [prompt for prompt in prompts for _ in range(args.live // count)]


def with_engine(engine: Engine, prompts: list[list[int]], new: int) -> int:
    """Continues all prompts with the engine."""
    slots = [engine.open(prompt) for prompt in prompts]
    for slot in slots:
        engine.start(slot, new)
    tokens = sum(len(generation.ids) for generation in engine.run())
    for slot in slots:
        engine.close(slot)
    return tokens


def with_generate(model, prompts: list[list[int]], new: int) -> int:
    """Continues all prompts with `generate`, padded at the left as its documentation asks for."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    sampling = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
    length = {"min_new_tokens": new, "max_new_tokens": new, "eos_token_id": None, "pad_token_id": 0}
    with torch.inference_mode():
        out = model.generate(ids, attention_mask=mask, **sampling, **length)
    return (out.shape[1] - width) * len(prompts)


if __name__ == "__main__":
    main()
