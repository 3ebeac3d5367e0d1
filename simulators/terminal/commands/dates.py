"""date and sleep, over the simulated clock; the time zone is UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from .base import Run, program

UNITS = {
    "sec": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "hour": 3600,
    "day": 86400,
    "week": 604800,
    "fortnight": 1209600,
}
MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
SHORT = {
    "F": "%Y-%m-%d",
    "T": "%H:%M:%S",
    "D": "%m/%d/%y",
    "R": "%H:%M",
    "c": "%a %b %e %H:%M:%S %Y",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
    "r": "%I:%M:%S %p",
    "h": "%b",
}


def formatted(form: str, seconds: int) -> str:
    """Return a time (seconds since 1970) in a `date` format, in English and UTC."""
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return str(seconds)
    iso = when.isocalendar()
    values = {
        "Y": f"{when.year}",
        "y": f"{when.year % 100:02d}",
        "C": f"{when.year // 100:02d}",
        "m": f"{when.month:02d}",
        "d": f"{when.day:02d}",
        "e": f"{when.day:2d}",
        "H": f"{when.hour:02d}",
        "I": f"{(when.hour + 11) % 12 + 1:02d}",
        "k": f"{when.hour:2d}",
        "l": f"{(when.hour + 11) % 12 + 1:2d}",
        "M": f"{when.minute:02d}",
        "S": f"{when.second:02d}",
        "N": "000000000",
        "s": str(seconds),
        "j": f"{when.timetuple().tm_yday:03d}",
        "p": "AM" if when.hour < 12 else "PM",
        "P": "am" if when.hour < 12 else "pm",
        "Z": "UTC",
        "z": "+0000",
        "u": str(when.isoweekday()),
        "w": str(when.isoweekday() % 7),
        "a": DAYS[when.weekday()][:3].title(),
        "A": DAYS[when.weekday()].title(),
        "b": MONTHS[when.month - 1][:3].title(),
        "B": MONTHS[when.month - 1].title(),
        "V": f"{iso.week:02d}",
        "G": str(iso.year),
        "U": f"{(when.timetuple().tm_yday + 6 - when.isoweekday() % 7) // 7:02d}",
        "q": str((when.month + 2) // 3),
        "n": "\n",
        "t": "\t",
        "%": "%",
    }

    def value(match: re.Match[str]) -> str:
        flag, letter = match[1], match[2]
        text = formatted(SHORT[letter], seconds) if letter in SHORT else values.get(letter, match[0])
        return text.lstrip("0 ") or "0" if flag == "-" else text.upper() if flag == "^" else text

    return re.sub(r"%([-_0^#]?):?([a-zA-Z%])", value, form)


def moment(text: str, now: int) -> int | None:
    """Return a text such as `2024-03-01 10:00`, `@86400` or `3 days ago` in seconds; `None` if it is no date."""
    text = text.strip().lower()
    if re.fullmatch(r"@-?\d{1,12}(\.\d+)?", text):
        return int(float(text[1:]))
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=now)
    absolute = re.compile(
        r"(\d{4})-(\d{1,2})-(\d{1,2})|(\d{1,2})/(\d{1,2})/(\d{4})|(\d{4})(\d{2})(\d{2})(?!\d)"
    ).search(text)
    clock = re.compile(r"(?:t|\b)(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?\s*(am|pm)?").search(text)
    named = re.compile(r"\b(\d{1,2})\s+([a-z]{3,9})\s+(\d{4})|\b([a-z]{3,9})\s+(\d{1,2}),?\s+(\d{4})").search(text)
    rest = text
    try:
        if absolute:
            y, m, d = (
                (absolute[1], absolute[2], absolute[3])
                if absolute[1]
                else (absolute[6], absolute[4], absolute[5])
                if absolute[6]
                else (absolute[7], absolute[8], absolute[9])
            )
            when = when.replace(year=int(y), month=int(m), day=int(d), hour=0, minute=0, second=0)
            rest = rest.replace(absolute[0], " ")
        elif named:
            day, month, year = (named[1], named[2], named[3]) if named[1] else (named[5], named[4], named[6])
            number = next((i for i, name in enumerate(MONTHS, 1) if name.startswith(month)), 0)
            when = when.replace(year=int(year), month=number, day=int(day), hour=0, minute=0, second=0)
            rest = rest.replace(named[0], " ")
        if clock:
            hour = int(clock[1]) % 12 + 12 * (clock[4] == "pm") if clock[4] else int(clock[1])
            when = when.replace(hour=hour, minute=int(clock[2]), second=int(clock[3] or 0))
            rest = rest.replace(clock[0], " ")
        return _shifted(when, rest)
    except (ValueError, OverflowError):
        return None


def _shifted(when: datetime, rest: str) -> int | None:
    """Apply the relative words of a date."""
    words = re.findall(r"[+-]?\d+|[a-z]+", rest.replace("utc", " ").replace("+0000", " "))
    if re.sub(r"[+-]?\d+|[a-z]+|\s|,", "", rest.replace("utc", " ").replace("+0000", " ")):
        return None
    sign = -1 if "ago" in words else 1
    count: int | None = None
    for word in words:
        unit = word.rstrip("s") if word != "hours" else "hour"
        if re.fullmatch(r"[+-]?\d{1,9}", word):
            count = int(word)
        elif word in ("now", "today", "ago", "z", "t"):
            continue
        elif word in ("tomorrow", "yesterday"):
            when += timedelta(days=1 if word == "tomorrow" else -1)
        elif word in ("next", "last"):
            count = 1 if word == "next" else -1
        elif unit in UNITS:
            when += timedelta(seconds=sign * UNITS[unit] * (1 if count is None else count))
            count = None
        elif unit in ("month", "year"):
            months = (
                when.year * 12 + when.month - 1 + sign * (1 if count is None else count) * (12 if unit == "year" else 1)
            )
            when = when.replace(day=1, year=months // 12, month=months % 12 + 1) + timedelta(days=when.day - 1)
            count = None
        else:
            return None
    return None if count is not None else int((when - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())


@program("date", short="ud:r:R", long=("utc", "universal", "date=", "reference=", "iso-8601", "rfc-email"))
def date(run: Run) -> int | None:
    """Write the time."""
    seconds = run.sh.files.now()
    text = run.get("d", "date")
    if text is not None:
        found = moment(text, seconds)
        if found is None:
            return run.error(f"invalid date '{text[:60]}'")
        seconds = found
    reference = run.get("r", "reference")
    if reference is not None:
        seconds = run.sh.files.get(run.path(reference)).mtime
    form = next((a[1:] for a in run.args if a.startswith("+")), None)
    default = (
        "%Y-%m-%d"
        if run.has("iso-8601")
        else "%a, %d %b %Y %H:%M:%S +0000"
        if run.has("R", "rfc-email")
        else "%a %b %e %H:%M:%S UTC %Y"
    )
    run.out(formatted(default if form is None else form, seconds) + "\n")
    return None


@program("sleep", early=True)
def sleep(run: Run) -> int | None:
    """Pass simulated time: nothing waits, the clock stays with the call."""
    for text in run.args:
        if not re.fullmatch(r"(\d{1,9}(\.\d*)?|\.\d+)[smhd]?", text):
            return run.error(f"invalid time interval '{text[:40]}'")
    return None if run.args else run.error("missing operand")
