#!/usr/bin/env python3
"""Eight steps of eight launches, with the host waiting in several ways: the host's seconds for all, as JSON.

Python's time for each launch and each wait, some microseconds, is in all of them.
"""

import json
import random
import statistics
import time

import bursts
import torch

STEPS, LAUNCHES, COUNT, ROUNDS, CALLS = 8, 8, 2 << 20, 30, 10


def at_end():
    pass


def by_event(event, wait):
    def pause():
        event.record()
        wait(event)
    return pause


def ask_until_passed(event):
    while not event.query():
        pass


def ask_and_yield(event):
    while not event.query():
        time.sleep(0)


def read_value(result):
    return lambda: result[0].item()


def run(lanes, pause, each_launch):
    for lane in lanes:
        for source, target in zip(lane, lane[1:]):
            torch.clamp_min(source, 0, out=target)
            if each_launch:
                pause()
        if not each_launch:
            pause()
    torch.cuda.current_stream().synchronize()


def main():
    lanes = [[bursts.normal(COUNT) for _ in range(LAUNCHES + 1)] for _ in range(STEPS)]
    stream = torch.cuda.current_stream()
    value = read_value(lanes[0][-1])
    arms = {
        "wait at the end": (at_end, False),
        "stream, each step": (stream.synchronize, False),
        "event, each step": (by_event(torch.cuda.Event(), lambda event: event.synchronize()), False),
        "device, each step": (torch.cuda.synchronize, False),
        "asleep, each step": (by_event(torch.cuda.Event(blocking=True), lambda event: event.synchronize()), False),
        "polling, each step": (by_event(torch.cuda.Event(), ask_until_passed), False),
        "yielding, each step": (by_event(torch.cuda.Event(), ask_and_yield), False),
        "a value, each step": (value, False),
        "stream, each launch": (stream.synchronize, True),
        "a value, each launch": (value, True),
    }
    times = {name: [] for name in arms}
    for _ in range(ROUNDS):
        for name in random.sample(list(arms), len(arms)):
            time.sleep(random.uniform(*bursts.IDLE_SECONDS))
            run(lanes, *arms[name])  # not timed: the clock rises
            of_round = []
            for _ in range(CALLS):
                began = time.perf_counter()
                run(lanes, *arms[name])
                of_round.append(time.perf_counter() - began)
            times[name].append(statistics.median(of_round))
    print(json.dumps({name: statistics.median(rounds) for name, rounds in times.items()}))


if __name__ == "__main__":
    main()
