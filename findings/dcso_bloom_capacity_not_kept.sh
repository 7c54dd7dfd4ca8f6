#!/usr/bin/env bash
# DCSO's bloom 0.2.4 (Debian 12: golang-github-dcso-bloom-cli 0.2.4-3+b5) and flor 1.1.3 (python3-flor 1.1.3-2), which
# read the same files: what they do beyond the capacity that a filter was created for.
#
# The guess: both refuse, or both go on and count what they took. What is seen, with 5,000 keys of capacity at 1 %:
#
#   flor:  the 5,007th key raises CapacityError
#   bloom: takes 40,000 keys and ends with 0; "Elements present" says 17,577, since a key that seems to be there is not
#          counted; 97 of 100 absent keys are found
#   bloom join of a filter and its copy doubles the count
#
# So that number is no count of keys, and a list piped into `bloom insert` wants its lines counted first. `nestline add`
# refuses what its filter has no room for, and leaves the file as it was.
#
# Needs apt-get download of both, and python3. Ends with 0 if it is as above, 1 if not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download golang-github-dcso-bloom-cli=0.2.4-3+b5 python3-flor=1.1.3-2 >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" root; done
bloom=root/usr/bin/bloom
keys() { seq -f 'key:%.0f' "$1" "$2"; }
count() { "$bloom" show "$1" | sed -n 's/^Elements present:[^0-9]*//p'; }
{
  "$bloom" create -n 5000 -p 0.01 filter
  keys 1 40000 | "$bloom" insert filter
  echo "bloom took them: $?"
  echo "keys found of 40,000: $(keys 1 40000 | "$bloom" check filter | wc -l)"
  echo "it counts $(($(count filter) / 1000)) thousand"
  echo "absent keys found: $(($(keys 40001 80000 | "$bloom" check filter | wc -l) / 400)) %"
  cp filter copy
  before=$(count filter)
  "$bloom" join filter copy
  echo "joined with its copy: $(($(count filter) / before)) times"
  PYTHONPATH=root/usr/lib/python3/dist-packages python3 - <<'END'
from flor import BloomFilter

filter = BloomFilter(5000, 0.01)
taken = 0
try:
    for i in range(40000):
        filter.add(b"key:%d" % i)
        taken += 1
except BloomFilter.CapacityError:
    print("flor took", taken // 100 * 100, "and refused the next")
END
} | tee seen
diff seen - <<'END'
bloom took them: 0
keys found of 40,000: 40000
it counts 17 thousand
absent keys found: 97 %
joined with its copy: 2 times
flor took 5000 and refused the next
END
