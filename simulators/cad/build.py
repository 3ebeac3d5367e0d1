"""From a document to a model: a fold, cached by content.

``model_of(features)`` applies one feature after the other to an empty ``Model``. Each intermediate model, and each
refusal, is kept under the key of its prefix, so that a call costs one operation, an undo none, and an edit only what
comes after it.
"""

from __future__ import annotations

from collections import OrderedDict

from ..base import ToolError, ToolFault
from . import kernel
from .document import Feature, Features, key_after
from .model import Model
from .operations import apply

CACHE = 128
"""Most models kept in one process."""

_MODELS: OrderedDict[str, Model | ToolError] = OrderedDict()


def model_of(features: Features) -> Model:
    """Return the model of a document.

    Raises:
        ToolFault: The refusal of the first feature that cannot be built.
    """
    model, key = Model(), ""
    for feature in features:
        key = key_after(key, feature)
        model = _next(key, model, feature)
    return model


def health_of(features: Features) -> list[dict[str, str]]:
    """Return each feature's health: ``status``, ``code``, ``message`` and ``hint``.

    The status is ``ok``, ``warning``, ``error``, or ``upstream_failed`` after an error.
    """
    model, key, found = Model(), "", list[dict[str, str]]()
    for i, feature in enumerate(features):
        key = key_after(key, feature)
        try:
            model = _next(key, model, feature)
        except ToolFault as fault:
            error = fault.result.error or ToolError("kernel", str(fault))
            found.append({"status": "error", "code": error.code, "message": error.message, "hint": error.hint})
            return found + [_health("upstream_failed", f"{feature.name} failed")] * (len(features) - i - 1)
        found.append(_health("warning", model.warning) if model.warning else _health("ok"))
    return found


def _health(status: str, message: str = "") -> dict[str, str]:
    return {"status": status, "code": "", "message": message, "hint": ""}


def _next(key: str, model: Model, feature: Feature) -> Model:
    found = _MODELS.get(key)
    if found is None:
        found = _MODELS[key] = _attempt(model, feature)
        if len(_MODELS) > CACHE:
            _MODELS.popitem(last=False)
    else:
        _MODELS.move_to_end(key)
    if isinstance(found, ToolError):
        raise ToolFault(found.code, found.message, found.hint, found.nearest)
    return found


def _attempt(model: Model, feature: Feature) -> Model | ToolError:
    try:
        return apply(model, feature)
    except ToolFault as fault:
        return fault.result.error or ToolError("kernel", str(fault))


def alike(a: Features, b: Features) -> bool:
    """Whether two documents make the same part, and the same open sketch.

    Raises:
        ToolFault: If one of them cannot be built.
    """
    one, other = model_of(a), model_of(b)
    same_body = (one.body and one.body.brep) == (other.body and other.body.brep)
    return same_body and (one.sketch, one.frame, one.figures) == (other.sketch, other.frame, other.figures)


def exported(features: Features, form: str) -> bytes:
    """Return a document's body as a file of a form: ``step``, ``stl`` or ``brep``.

    Raises:
        ToolFault: If the document cannot be built, or has no body.
    """
    body = model_of(features).body
    if body is None:
        raise ToolFault("precondition", "export: there is no body")
    return body.brep if form == "brep" else {"step": kernel.to_step, "stl": kernel.to_stl}[form](body.shape())
