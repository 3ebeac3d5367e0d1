"""The whole line, small: clone, examine, reinforce, report; and a run that is killed goes on where it was."""

import json

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from makerspace.policy.recipe import Recipe, load_recipe, preset_names  # noqa: E402
from makerspace.policy.train import Trainer  # noqa: E402

SMALL = {
    "tasks": {"families": ["terminal.lookup", "terminal.config"], "runtime": "inline"},
    "warm_start": {
        "weights": "clone",
        "demonstrations": 24,
        "steps": 6,
        "batch": 8,
        "vocab_size": 300,
        "hasty_steps": 2,
    },
    "reinforce": {"steps": 2, "groups": 2, "group_size": 3},
    "examination": {"tasks": 6, "split": "validation"},
    "engine": {"slots": 8, "max_turn_tokens": 16},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, Trainer(Recipe.model_validate(SMALL), folder).run()


def test_a_run_leaves_what_it_promises(run):
    folder, report = run
    assert report.steps == 2
    assert json.loads((folder / "report.json").read_text()) == json.loads(json.dumps(report.to_json()))
    events = [json.loads(line)["event"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert events.count("step") == 2
    assert events.count("examination") == 4
    assert len(list((folder / "traces").rglob("*.trace"))) == 24


def test_examinations_are_on_the_same_held_out_tasks(run):
    folder, _ = run
    before, after = ({p.name for p in (folder / "traces" / when).rglob("*.trace")} for when in ("before", "after"))
    assert before == after
    assert all(name.startswith("validation-") for name in before)


def test_the_curve_is_drawn(run):
    from makerspace.policy.report import draw_curve, read_metrics

    folder, _ = run
    draw_curve(read_metrics(folder), folder / "curve.png")
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_the_policy_loads_and_plays_again(run):
    from makerspace.policy.evaluate import evaluate, evaluation_jobs
    from makerspace.policy.player import Player, named_policy

    folder, report = run
    player = Player(named_policy(str(folder / "policy")), Recipe.model_validate(SMALL))
    with player.rollout() as rollout:
        again = evaluate(rollout, evaluation_jobs(player.env_ids, 6, "validation"), 0.0)
    assert again == report.after["greedy"]


def test_a_killed_run_goes_on_from_its_last_step(run, tmp_path):
    """Stopped after one step and resumed, a run has the weights of one that was never stopped."""
    folder, _ = run
    recipe = Recipe.model_validate({**SMALL, "warm_start": {"weights": str(folder / "warmstart")}})
    whole = Trainer(recipe, tmp_path / "whole")
    whole.reinforce()
    first = Trainer(
        recipe.model_copy(update={"reinforce": recipe.reinforce.model_copy(update={"steps": 1})}), tmp_path / "parts"
    )
    first.reinforce()
    second = Trainer(recipe, tmp_path / "parts")
    second.resume()
    assert second.step == 1
    second.reinforce()
    for name, tensor in whole.model.state_dict().items():
        torch.testing.assert_close(second.model.state_dict()[name], tensor, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_a_recipe(name):
    assert load_recipe(name).reinforce.group_size > 1


def test_a_wrong_key_is_named():
    with pytest.raises(ValueError, match="grops"):
        load_recipe("demo", reinforce={"grops": 3})
    with pytest.raises(FileNotFoundError, match=r"presets: .*demo"):
        load_recipe("dmo")
