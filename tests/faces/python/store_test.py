"""Store against a dict."""

import mmap
import os
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import nestline
import pytest

pytestmark = pytest.mark.skipif(not hasattr(nestline, "Store"), reason="built without the store")


def test_random_operations_have_the_answers_of_a_dict(tmp_path):
    chance = random.Random(2)
    model, path = {}, tmp_path / "db"
    store = nestline.Store(path)
    for step in range(3000):
        key, value = b"key %d\xff" % chance.randrange(300), chance.randbytes(chance.randrange(50))
        what = chance.randrange(8)
        if what == 0:
            store[key] = model[key] = value
        elif what == 1:
            assert store.insert_unique(key, value) == (key not in model)
            model.setdefault(key, value)
        elif what == 2:
            assert store.erase(key) == (model.pop(key, None) is not None)
        elif what == 3:
            changes = {b"key %d\xff" % chance.randrange(300): chance.choice([None, value])
                       for _ in range(9)}
            store.write(changes if step % 2 else list(changes.items()))
            for changed, to in changes.items():
                model.pop(changed, None)
                if to is not None:
                    model[changed] = to
        elif what == 4:
            keys = [b"key %d\xff" % chance.randrange(300) for _ in range(20)]
            assert store.get_many(keys) == [model.get(key) for key in keys]
        elif step % 200 == 0:
            store.close()
            store = nestline.Store(path)
        else:
            assert store.get(key) == model.get(key) and (key in store) == (key in model)
        assert len(store) == len(model)
    assert dict(store.items()) == model
    assert sorted(store) == sorted(store.keys()) == sorted(model)
    assert sorted(store.values()) == sorted(model.values())
    collected = {}
    assert store.for_each(collected.__setitem__) is None
    assert collected == model
    store.compact()
    assert dict(store.items()) == model and store.stats()["records"] == len(model)
    store.copy_to(tmp_path / "copy")
    with nestline.Store(tmp_path / "copy", read_only=True) as copied:
        assert dict(copied.items()) == model
    with pytest.raises(RuntimeError, match="in the folder of the store itself"):
        store.copy_to(path)


def test_names_of_version_0_2_in_the_figures(tmp_path):
    with nestline.Store(tmp_path / "db") as store:
        assert store.get("a") is None
        stats = store.stats()
        assert stats["lookups"] == 1 and "questions" not in stats
        with pytest.warns(DeprecationWarning, match="lookups is its name"):
            assert stats["questions"] == 1
        with pytest.raises(KeyError):
            stats["nothing"]


def test_text_stands_for_its_utf8(tmp_path):
    with nestline.Store(tmp_path / "db") as store:
        store["caf\u00e9"] = "\u20ac"
        assert store["caf\u00e9".encode()] == "\u20ac".encode()
        memory = mmap.mmap(-1, 2)  # bytes of any kind, such as those of Arrow, are bytes
        memory[:] = b"mm"
        store[memory] = memoryview(b"signed").cast("b")
        assert store["mm"] == b"signed" and memory in store and store.erase(memory)
        assert store[bytearray("caf\u00e9".encode())] == store[memoryview("caf\u00e9".encode())]
        store.put(b"", b"")
        assert store[""] == b"" and store.insert_unique("", b"") is False
        for bad in (5, None, ["a"], 1.5):
            for call in (lambda: store.get(bad), lambda: store.put("a", bad), lambda: bad in store,
                         lambda: store.get_many([bad])):
                with pytest.raises(TypeError):
                    call()
        for bad in ([("a", "b", "c")], ["ab"], [5], 5):
            with pytest.raises(TypeError):
                store.write(bad)
        with pytest.raises(ValueError):
            store["k" * 65537] = "x"
        with pytest.raises(KeyError) as caught:
            store["missing"]
        assert caught.value.args == ("missing",)
        with pytest.raises(KeyError):
            del store["missing"]
        assert store.get("missing") is None and store.get("missing", 5) == 5
        del store["caf\u00e9"]
        assert len(store) == 1


def test_items_are_those_of_one_instant(tmp_path):
    with nestline.Store(tmp_path / "db") as store:
        for i in range(100):
            store[f"{i:02}"] = "old"
        items = store.items()
        first = next(items)
        for i in range(100):
            store[f"{i:02}"] = "new"
            store[f"more {i}"] = "new"
        assert [first, *items] == [(b"%02d" % i, b"old") for i in range(100)]
        seen = []

        def change_the_store(key, value):
            store.erase(key)
            seen.append(value)

        store.for_each(change_the_store)
        assert len(seen) == 200 and len(store) == 0

        def fails(key, value):
            raise LookupError(key)

        store["a"] = "1"
        with pytest.raises(LookupError):
            store.for_each(fails)


def test_closing_and_reading_only(tmp_path):
    path = tmp_path / "db"
    with pytest.raises(FileNotFoundError):
        nestline.Store(path, create=False)
    with nestline.Store(path, sync="each", expected_records=1000) as store:
        store["a"] = "1"
        with pytest.raises(nestline.StoreError):
            nestline.Store(path)
        with nestline.Store(os.fsencode(path), read_only=True) as reader:
            assert reader["a"] == b"1"
            store["b"] = "2"
            store.sync()
            assert reader.refresh() and reader["b"] == b"2" and not reader.refresh()
            with pytest.raises(Exception, match="read"):
                reader["c"] = "3"
        assert "1 records" not in repr(store) and "2 records" in repr(store)
    assert repr(store) == "<nestline.Store: closed>"
    for call in (lambda: store["a"], lambda: len(store), lambda: store.put("a", "b"), store.sync,
                 store.items):
        with pytest.raises(ValueError, match="closed"):
            call()
    store.close()
    with pytest.raises(TypeError):
        pickle.dumps(store)
    for bad in (dict(sync="often"), dict(segment_bytes=5), dict(sync_interval=0),
                dict(sync_interval=float("nan"))):
        with pytest.raises(ValueError):
            nestline.Store(path, **bad)


def test_closing_without_room_for_the_index_is_no_error(tmp_path):
    # The store has files of at most 64 KiB and an index of more than 128.
    program = f"""if True:
        import resource, nestline
        with nestline.Store({str(tmp_path / "db")!r}, segment_bytes=1 << 16) as store:
            store.write({{str(i): "" for i in range(30000)}})
            most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, most))
            try:
                store.checkpoint()
            except OSError:
                print("no room")"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("no room\n", 0), done.stderr
    with nestline.Store(tmp_path / "db", read_only=True) as store:
        assert len(store) == 30000


def test_threads(tmp_path):
    with nestline.Store(tmp_path / "db") as store:

        def work(name):
            for i in range(200):
                store[f"{name} {i}"] = str(i)
                assert store[f"{name} {i}"] == str(i).encode()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, "abcd"))  # with their errors
        assert len(store) == 800


def test_a_damaged_store_is_an_error(tmp_path):
    with nestline.Store(tmp_path / "db", sync="each") as store:
        for i in range(100):
            store[f"{i}"] = "x" * 100
    (log,) = (tmp_path / "db").glob("*.log")
    data = bytearray(log.read_bytes())
    data[data.index(b"x" * 100, len(data) // 3)] ^= 1
    log.write_bytes(data)
    with pytest.raises(nestline.StoreError):
        with nestline.Store(tmp_path / "db") as store:
            dict(store.items())
