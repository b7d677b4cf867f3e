"""Calls `jitterscope run` and reads its JSON (docs/record.schema.json)."""

# 4: measured, but not to the precision asked for. The numbers are there, and the table says how precise they are.
ACCEPTED = (0, 4)


def run(session, operations, flags, limit_seconds):
    """One process for these operations. Raises ValueError where the document is not about them."""
    command = [session.jitterscope, "run", *operations, "--device", "cuda", *flags]
    finished, document = session.run_with_json(command, limit_seconds, ACCEPTED)
    if (document.get("format"), document.get("version"), document.get("command")) != ("jitterscope-record", 2, "run"):
        raise ValueError(f"not a record of jitterscope run, version 2: format {document.get('format')}, "
                         f"version {document.get('version')}, command {document.get('command')}")
    if document["interrupted"]:
        raise ValueError("jitterscope was interrupted")
    return {"command": " ".join(finished.command), "wall_seconds": finished.seconds, "status": finished.status,
            "peak_memory_bytes": finished.peak_memory_bytes, "memory_bytes": finished.memory_bytes,
            "document": without_sensors(document)}


def without_sensors(document):
    """The sensors of each round are a large part of a document, and no table here is made of them."""
    for result in document["results"]:
        for measurement in result["measurements"]:
            for one_round in measurement["rounds"]:
                one_round.pop("sensors", None)
    return document


def measurement(result, cache="warm", load="burst"):
    if result.get("failure"):
        raise ValueError(f"{result['operation']}: {result['failure']}")
    for candidate in result["measurements"]:
        conditions = candidate["conditions"]
        if conditions["cache"] == cache and conditions["load"] == load:
            return candidate
    raise ValueError(f"{result['operation']} has no measurement that is {cache} and {load}")


def reading(result, cache="warm", load="burst"):
    """The numbers of one measurement that tables are made of."""
    found = measurement(result, cache, load)
    time = found["time"]
    values = {"seconds": time["median_seconds"], "precision": time.get("relative_precision"),
              "rounds": time["rounds"], "duration_seconds": found["duration_seconds"],
              "instrument": found["instrument"], "stop_reason": found["stop_reason"]}
    if "clock" in found:
        values["clock_hertz"] = found["clock"]["median_hertz"]
    return values


def readings_in_order(run_of_operations, names):
    """Reading by name: results come in the order of the plan. A failed operation keeps its reason."""
    results = run_of_operations["document"]["results"]
    if len(results) != len(names):
        raise ValueError(f"{len(names)} operations were asked for, {len(results)} came back")
    readings = {}
    for name, result in zip(names, results):
        try:
            readings[name] = reading(result)
        except (KeyError, ValueError) as error:
            readings[name] = {"failed": str(error)}
    return readings


def spin_of(operation):
    """(nanoseconds, blocks) of a spin operation in normal form, which leaves out what is usual (1 block)."""
    kind, _, text = operation.partition(":")
    if kind != "spin":
        raise ValueError(f"{operation} is no spin operation")
    parameters = dict(part.split("=", 1) for part in text.split(","))
    return int(parameters["ns"]), int(parameters.get("blocks", 1))
