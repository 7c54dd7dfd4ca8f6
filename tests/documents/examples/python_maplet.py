import nestline
import numpy as np

# Where the line of each user begins in a file, without the names in memory.
with open("users.csv", "w+b") as file:
    file.write(b"ann,1815\nbob,1912\neve,1906\n")
    file.seek(0)
    places, at = nestline.Maplet(1_000_000), 0
    for line in file:
        places.insert(line.split(b",")[0], at)
        at += len(line)

    def find(user):
        for at in places.candidates(user):    # all of its own, seldom one of another key
            file.seek(at)
            line = file.readline().rstrip().split(b",")
            if line[0] == user:
                return line[1]

    print(find(b"bob"), find(b"dan"))

offsets, values = places.candidates(["eve", "dan", "ann"])
print(np.diff(offsets), values)               # how many each has, and all of them
places.replace("ann", 0, 27)                  # one pair at a time; erase("ann", 27) removes it
print(places.candidates("ann"))
