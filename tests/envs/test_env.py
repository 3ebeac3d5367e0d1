"""One environment for every task: the schedule of an episode."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from makerspace.envs.env import ToolEnv
from makerspace.envs.episode import UNSCORED
from makerspace.envs.observation import LONGEST_TEXT, MOST_STEPS, STATUSES, picture, shortened
from makerspace.envs.oracle import play_oracle
from makerspace.simulators.base import ToolCall
from makerspace.traces.reader import canonical, read
from makerspace.traces.replay import replay

SUBMIT = '{"name": "submit", "arguments": {}}'


def status(observation):
    return STATUSES[observation["status"]]


def test_an_episode_tells_the_task_and_ends_with_submit(make):
    env = make()
    observation, info = env.reset(seed=0)
    assert observation["text"].startswith(info["instruction"])
    assert info["task_id"].startswith("terminal.config/train/")
    assert (status(observation), observation["step"][0], info["tool"], info["error"]) == ("ok", 0, "", "")
    observation, reward, terminated, truncated, info = env.step(SUBMIT)
    assert (status(observation), terminated, truncated, info["tool"]) == ("ended", True, False, "submit")
    assert reward == 0.0
    assert info["reward_valid"]
    assert not info["is_success"]


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("I would rather talk.", "malformed"),
        ('{"name": "fly", "arguments": {}}', "unknown_tool"),
        ('{"name": "submit", "arguments": {"grade": "A"}}', "bad_argument"),
        ('{"name": "submit", "arguments": {"answer": 7}}', "bad_argument"),
        ('{"name": "submit", "arguments": {"answer": NaN}}', "malformed"),
        ("x" * 1_000_000, "limit"),
        ('{"name": "run", "arguments": ' + "[" * 50_000, "malformed"),
        (None, "malformed"),
        (b"\xff", "malformed"),
    ],
)
def test_the_agents_mistake_is_a_step_and_not_an_exception(make, action, code):
    env = make()
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)
    assert (status(observation), info["error"], info["step"]) == ("error", code, 1)
    assert observation["text"].startswith("error: ")
    assert (reward, terminated, truncated, info["reward_valid"], info["infra_error"]) == (0.0, False, False, True, "")


def test_an_unknown_tool_is_answered_with_the_nearest_and_with_submit(make):
    env = make()
    env.reset(seed=0)
    text = env.step('{"name": "submitt"}')[0]["text"]
    assert "did you mean: submit" in text


def test_the_step_limit_truncates_and_scores_what_is_there(make):
    env = make(max_steps=2)
    env.reset(seed=0)
    observation, _, terminated, truncated, info = env.step("hm")
    assert observation["budget_left"][0] == 1
    assert set(info["reward_terms"].values()) == {UNSCORED}
    observation, _, terminated, truncated, info = env.step("hm")
    assert (terminated, truncated, info["reward_valid"], observation["budget_left"][0]) == (False, True, True, 0)
    assert UNSCORED not in info["reward_terms"].values()


def test_finished_work_counts_even_if_it_is_never_handed_in(make):
    env = make("terminal.tidy")
    env.reset(seed=0)
    actions = []
    for action in env.oracle():
        actions.append(action)
        env.step(action)
    env.reset(seed=0)
    limited = make("terminal.tidy", max_steps=len(actions) - 1)
    limited.reset(seed=0)
    for action in actions[:-1]:
        _, reward, terminated, truncated, _ = limited.step(action)
    assert (terminated, truncated) == (False, True)
    assert reward > 0.0


def test_after_the_end_and_before_the_start_only_a_reset_can_follow(make):
    env = make()
    for act in (lambda: env.step(SUBMIT), env.finish, env.snapshot, env.state_hash, lambda: env.task):
        with pytest.raises(ResetNeeded):
            act()
    env.reset(seed=0)
    env.step(SUBMIT)
    with pytest.raises(ResetNeeded, match=r"over: call reset\(\)"):
        env.step(SUBMIT)
    env.reset()
    env.begin("hm")
    with pytest.raises(ResetNeeded, match="finish"):
        env.begin("hm")


def test_reset_takes_a_task_by_id_or_by_its_parts(make):
    env = make()
    _, info = env.reset(options={"split": "test", "index": 4, "difficulty": 0.25})
    assert info["task_id"] == "terminal.config/test/4@0.25"
    _, again = env.reset(options={"task_id": info["task_id"]})
    assert again["instruction"] == info["instruction"]
    assert env.reset(options={"index": 3})[1]["task_id"].startswith("terminal.config/train/3@")
    assert env.reset(options={"difficulty": None, "index": None, "split": None})[1]["infra_error"] == ""


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"indx": 3}, "nearest: .*index"),
        ({"split": "tset"}, "tset"),
        ({"difficulty": 2.0}, "difficulty"),
        ({"index": -1}, "index"),
        ({"task_id": "cad.plate/test/1@0"}, "is not a task of terminal.config"),
    ],
)
def test_a_wrong_option_is_named(make, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        make().reset(options=options)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"action_view": "txt"}, "nearest: .*text"),
        ({"split": "dev"}, "splits?"),
        ({"difficulty": -0.1}, "difficulty"),
        ({"render_mode": "human"}, "render mode"),
        ({"max_steps": MOST_STEPS + 1}, "max_steps"),
    ],
)
def test_a_wrong_argument_is_named(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        ToolEnv("terminal.config", **arguments)


def test_seeds_draw_tasks_and_difficulty_can_be_fixed(make):
    env, other = make(), make(difficulty=0.75, split="validation")
    first = [env.reset(seed=5)[1]["task_id"], env.reset()[1]["task_id"]]
    assert [env.reset(seed=5)[1]["task_id"], env.reset()[1]["task_id"]] == first
    assert first[0] != first[1]
    name = other.reset(seed=5)[1]["task_id"]
    assert "/validation/" in name
    assert name.endswith("@0.75")


def test_info_is_one_tree_and_always_new(make):
    env = make(max_steps=3)
    infos = [env.reset(seed=1)[1], *(env.step(action)[4] for action in ("hm", '{"name": "fly"}', SUBMIT))]

    def tree(info):
        return {key: tree(value) if isinstance(value, dict) else type(value) for key, value in info.items()}

    assert all(tree(info) == tree(infos[0]) for info in infos)
    assert len({id(info["reward_terms"]) for info in infos}) == len(infos)


def test_features_show_the_application_and_the_stated_numbers(make):
    env = make("cad.plate", action_view="discrete", features=40)
    observation, info = env.reset(options={"index": 0, "difficulty": 0.0})
    assert "text" not in observation
    assert observation["features"].shape == (40,)
    stated = env.task.stated
    assert stated["width"] in observation["features"][-16:]
    assert info["action_mask"].shape == (int(sum(env.action_space.nvec)),)
    assert np.array_equal(env.action_masks(), info["action_mask"])


def test_the_oracle_plays_in_every_view_that_has_words_for_it(make):
    for view in ("text", "tool"):
        assert play_oracle(make(action_view=view), seed=2)[1] == 1.0
    assert play_oracle(make("cad.plate", action_view="discrete"), options={"index": 1, "difficulty": 0.0})[1] == 1.0


def test_a_solution_that_stops_early_is_an_error(make, monkeypatch):
    def early(self, task):
        yield ToolCall("fly")

    env = make()
    monkeypatch.setattr(type(env._family), "oracle", early)
    with pytest.raises(RuntimeError, match="before the episode was over"):
        play_oracle(env)


def test_tools_are_listed_in_openai_form_and_the_list_is_the_callers(make):
    env = make()
    names = [tool["function"]["name"] for tool in env.tools()]
    assert names[-1] == "submit"
    env.tools()[0]["function"]["name"] = "changed"
    assert [tool["function"]["name"] for tool in env.tools()] == names


def test_ansi_shows_instruction_call_and_result(make):
    env = make(render_mode="ansi")
    _, info = env.reset(seed=0)
    assert env.render().startswith(info["instruction"])
    text = env.step('{"name": "fly", "arguments": {"high": true}}')[0]["text"]
    assert '> {"name": "fly", "arguments": {"high": true}}' in env.render()
    assert text in env.render()
    assert make().render() is None


def test_closing_twice_is_allowed_and_a_reset_opens_again(make):
    env = make()
    env.reset(seed=0)
    env.close()
    env.close()
    assert env.reset(seed=0)[1]["infra_error"] == ""


def test_a_trace_holds_the_episode_and_what_was_noted(make, tmp_path):
    env = make(trace=tmp_path)
    assert env.trace_path is None
    play_oracle(env, seed=4)
    env.annotate("tokens", {"ids": [1, 2]})
    env.close()
    trace = read(env.trace_path)
    assert trace.complete
    assert trace.verdict.success
    assert [note.data for note in trace.notes] == [{"ids": [1, 2]}]
    assert replay(trace).agrees


def test_a_copy_goes_its_own_way_and_writes_a_whole_trace(make, tmp_path):
    env = make("terminal.tidy", trace=tmp_path)
    env.reset(seed=4)
    actions = env.oracle()
    env.step(next(actions))
    copy = env.fork()
    assert (copy.state_hash(), copy.task) == (env.state_hash(), env.task)
    env.step(next(actions))
    assert copy.episode.step == 1
    copy.step(SUBMIT)
    env.close()
    copy.close()
    assert env.trace_path != copy.trace_path
    assert replay(read(copy.trace_path)).agrees
    assert [step.action.step for step in read(copy.trace_path).steps] == [1, 2]


def test_a_copy_that_does_the_same_leaves_the_same_trace(make, tmp_path):
    env = make(trace=tmp_path)
    env.reset(seed=4)
    env.step("hm")
    copy = env.fork()
    for one in (env, copy):
        one.step('{"name": "fly"}')
        one.step(SUBMIT)
        one.close()
    assert canonical(read(env.trace_path)) == canonical(read(copy.trace_path))


def test_a_snapshot_goes_on_in_another_environment_and_view(make):
    env, other = make(), make(action_view="tool")
    env.reset(seed=9)
    env.step("hm")
    other.restore(env.snapshot())
    assert other.state_hash() == env.state_hash()
    assert other.step({"tool": len(other.tools()) - 1, "arguments": "{}"})[4]["step"] == 2


def test_a_snapshot_of_another_family_is_refused(make):
    env = make()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="is not a task of"):
        make("terminal.csv").restore(env.snapshot())


def test_long_text_shows_head_and_tail():
    text = "a" * LONGEST_TEXT + "z"
    assert shortened("a" * LONGEST_TEXT) == "a" * LONGEST_TEXT
    assert len(shortened(text)) <= LONGEST_TEXT
    assert shortened(text).startswith("aaa")
    assert shortened(text).endswith("z")
    assert "characters left out" in shortened(text)


def test_pictures_have_one_size(make):
    image = pytest.importorskip("PIL.Image", reason="pictures are read by Pillow")
    import base64
    import io

    file = io.BytesIO()
    image.new("RGB", (3, 5), (255, 0, 0)).save(file, "PNG")
    shown = picture(base64.b64encode(file.getvalue()).decode())
    assert shown.shape == (224, 224, 3)
    assert tuple(shown[0, 0]) == (255, 0, 0)
    observation, _ = make(images=True).reset(seed=0)
    assert observation["image"].dtype == np.uint8
    assert observation in make(images=True).observation_space


def test_an_environment_can_be_made_by_module_and_id():
    env = gymnasium.make("makerspace:makerspace/terminal.config-v0", action_view="text", runtime="inline")
    assert isinstance(env.unwrapped, ToolEnv)
    env.close()


@pytest.mark.parametrize("runtime", ["inline", "process"])
@pytest.mark.parametrize(
    "arguments",
    [
        '{"command": "echo \\ud800"}',
        '{"command": "\\u0000"}',
        '{"command": ' + "[" * 90 + "]" * 90 + "}",
        '{"command": "' + "x" * 300_000 + '"}',
        '{"command": ' + "[1," * 40 + "1" + "]" * 40 + "}",
        '{"command": 1e308}',
        '{"' + "k" * 100_000 + '": 1}',
    ],
    ids=["surrogate", "nul", "deep", "long", "nested", "huge", "key"],
)
def test_strange_arguments_reach_the_application_and_the_trace(make, tmp_path, runtime, arguments):
    env = make(runtime=runtime, trace=tmp_path)
    env.reset(seed=0)
    tool = env.tools()[0]["function"]["name"]
    for raw in (f'{{"name": "{tool}", "arguments": {arguments}}}', "\ud800 is no call", arguments):
        observation, _, terminated, truncated, info = env.step(raw)
        assert (terminated, truncated, info["infra_error"]) == (False, False, "")
        assert observation in env.observation_space
    env.close()
    trace = read(env.trace_path)
    assert trace.complete
    assert len(trace.steps) == 3
