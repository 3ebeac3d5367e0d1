"""Tokens per second of the generation engine against `transformers` `generate` on the same weights.

Both continue 128 prompts that have nothing in common (so the engine can share no prefix), from the same weights, at
temperature 1 without truncation, to exactly the same number of new tokens, on one thread in one process. Repeats
alternate, so that whatever else the machine does falls on both, and time is the processor time of this one thread,
which on an idle machine is the time on the wall; the figure is the ratio of the medians, and the ratio of each pair is
kept beside it. Prompts are computed by both inside the time.

    OMP_NUM_THREADS=1 python benchmarks/generation.py --write     # prints, and writes benchmarks/results/generation.json
"""

import argparse
import json
import platform
import statistics
import tempfile
import time
from pathlib import Path

import torch
import transformers

import makerspace.policy.hf  # noqa: F401  (registers the smeared class)
from makerspace.policy.config import TIERS
from makerspace.policy.engine import Engine
from makerspace.policy.interchange import save_pretrained
from makerspace.policy.model import Apprentice

RESULT = Path(__file__).parent / "results" / "generation.json"


def main() -> None:
    """Measures, prints, and writes if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tier", default="nano", choices=sorted(TIERS))
    parser.add_argument("--episodes", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=256, help="tokens of each prompt")
    parser.add_argument("--uneven", action="store_true", help="prompts from half to one and a half of that length")
    parser.add_argument("--new", type=int, default=64, help="tokens to generate for each episode")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    figures = measure(args)
    print(json.dumps(figures, indent=2))
    if args.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(figures, indent=2) + "\n")


def measure(args: argparse.Namespace) -> dict[str, object]:
    """Alternates both sides and returns medians and ratios."""
    model = Apprentice(TIERS[args.tier], seed=0)
    with tempfile.TemporaryDirectory() as directory:
        save_pretrained(model, directory)
        other = transformers.AutoModelForCausalLM.from_pretrained(directory)
    prompts = make_prompts(args, model.config.vocab_size)
    engine = Engine(model, [], slots=args.episodes, max_length=max(map(len, prompts)) + args.new)
    sides = {
        "ours": lambda: with_engine(engine, model.state_dict(), prompts, args.new),
        "theirs": lambda: with_generate(other, prompts, args.new),
    }
    for side in sides.values():
        side()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(args.repeats):
        for name, side in sides.items():
            begin = time.process_time()
            tokens = side()
            seconds[name].append(time.process_time() - begin)
            assert tokens == args.episodes * args.new
    rates = {name: args.episodes * args.new / statistics.median(times) for name, times in seconds.items()}
    pairs = [theirs / ours for ours, theirs in zip(seconds["ours"], seconds["theirs"], strict=True)]
    return {
        "what": "generated tokens per second of processor time, same weights and sampling, one thread",
        "settings": {name: value for name, value in vars(args).items() if name != "write"},
        "parameters": model.config.parameters(),
        "engine_tokens_per_second": round(rates["ours"]),
        "transformers_tokens_per_second": round(rates["theirs"]),
        "ratio": round(rates["ours"] / rates["theirs"], 2),
        "ratio_of_each_pair": [round(pair, 2) for pair in pairs],
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__, "python": platform.python_version()},
    }


def make_prompts(args: argparse.Namespace, vocab: int) -> list[list[int]]:
    """Random prompts without a common beginning; the first id of each differs."""
    generator = torch.Generator().manual_seed(0)
    low, high = (args.prompt // 2, args.prompt * 3 // 2) if args.uneven else (args.prompt, args.prompt)
    lengths = torch.randint(low, high + 1, (args.episodes,), generator=generator).tolist()
    return [[i % vocab, *torch.randint(0, vocab, (n - 1,), generator=generator).tolist()] for i, n in enumerate(lengths)]


def with_engine(engine: Engine, state: dict[str, torch.Tensor], prompts: list[list[int]], new: int) -> int:
    """Continues all prompts with the engine; loading the weights again drops what earlier repeats have cached."""
    engine.load_weights(state)
    slots = [engine.open(prompt) for prompt in prompts]
    for slot in slots:
        engine.start(slot, new)
    tokens = sum(len(generation.ids) for generation in engine.run())
    for slot in slots:
        engine.close(slot)
    return tokens


def with_generate(model: transformers.PreTrainedModel, prompts: list[list[int]], new: int) -> int:
    """Continues all prompts with `generate`, padded at the left, as its documentation asks for."""
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    how = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_new_tokens": new, "max_new_tokens": new}
    with torch.inference_mode():
        out = model.generate(ids, attention_mask=mask, pad_token_id=0, eos_token_id=None, **how)
    return (out.shape[1] - width) * len(prompts)


if __name__ == "__main__":
    main()
