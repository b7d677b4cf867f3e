"""GEMM 8192³ in bursts and without pause: the finding must name the power cap and both clocks."""

import jitterscope_runs
import tables
from problems import GEMM_8192

TITLE = "Burst against sustained"
LIMIT_SECONDS = 90.0


def measure(session):
    raw = jitterscope_runs.run(session, [GEMM_8192.operation], ["--cache", "warm", "--load", "burst,sustained"],
                               LIMIT_SECONDS)
    result = raw["document"]["results"][0]
    raw["readings"] = {load: jitterscope_runs.reading(result, load=load) for load in ("burst", "sustained")}
    raw["findings"] = [finding for finding in result["findings"] if finding["id"] == "power_cap"]
    return raw


def names_both_clocks(finding):
    """The finding that compares the loads has both clocks among its evidence, and knows that power is the cause."""
    evidence = finding["evidence"]
    return {"burst_clock_hz", "sustained_clock_hz"} <= evidence.keys() and evidence.get("cause_known") == "true"


def time_and_clock(reading):
    return f"{tables.time_text(reading['seconds'])} µs at {tables.megahertz(reading.get('clock_hertz'))}"


def rows(raw):
    what = f"{GEMM_8192.label}: burst and sustained differ by the power cap, and the finding says so with both clocks"
    if "failed" in raw:
        return [tables.failed_row(what, "yes", raw)]
    burst, sustained = (raw["readings"][load] for load in ("burst", "sustained"))
    text = "; ".join(f"{load} {time_and_clock(reading)}" for load, reading in raw["readings"].items())
    named = any(names_both_clocks(finding) for finding in raw["findings"])
    text += "; power_cap found" if named else "; no power_cap finding with both clocks"
    return [tables.Row(what, "yes", text, named and sustained["seconds"] > burst["seconds"])]


def details(raw):
    if "failed" in raw:
        return ""
    lines = [[load, f"{tables.time_text(reading['seconds'])} µs", f"± {tables.percent(reading['precision'])}",
              tables.megahertz(reading.get("clock_hertz")), reading["rounds"], reading["stop_reason"]]
             for load, reading in raw["readings"].items()]
    text = tables.table(["load", "time", "precision", "clock", "rounds", "stopped by"], lines)
    for finding in raw["findings"]:
        text += f"\n\n`{finding['id']}`: {finding['sentence']} {finding['remedy']}"
    return text if raw["findings"] else text + "\n\nNo finding `power_cap`."
