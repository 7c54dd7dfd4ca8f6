"""What the tests of the package share: ways to copy, and threads beside a test."""

import copy
import pickle
import threading

import numpy as np

COPIES = [copy.copy, copy.deepcopy]
COPIES += [lambda x, protocol=protocol: pickle.loads(pickle.dumps(x, protocol))
           for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
KEYS = np.random.default_rng(1).integers(0, 2**63, 1_000_000, dtype=np.uint64)
ENOUGH = 2000  # batches, in which a second thread must have come in at least once


class Beside(threading.Thread):
    """Calls a function again and again, until it is told to stop or has done so often enough."""

    def __init__(self, call):
        super().__init__()
        self.call, self.stop, self.error = call, threading.Event(), None
        self.start()

    def run(self):
        try:
            for _ in range(ENOUGH):
                if self.stop.is_set():
                    return
                self.call()
        except Exception as error:  # looked at by the test
            self.error = error

    def until(self, look):
        """Calls look() until it is true; whether it was so while the calls went on."""
        seen = False
        while not seen and self.is_alive():
            seen = look()
        self.stop.set()
        self.join()
        return seen


def is_read(numbers):
    """Whether a batch reads the array: it cannot grow then."""
    try:
        numbers.append(1)
        numbers.pop()
    except BufferError:
        return True
    return False
