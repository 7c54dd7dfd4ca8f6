# Needs nestline on the PATH, and the files log and log2.
nestline uniq log                          # each line once, in order
nestline uniq --state seen.nuq log         # the same, and remembers the lines
nestline uniq --state seen.nuq log2        # lines that are not in log either
nestline uniq -d log                       # lines that occur more than once, each once
nestline uniq -c --fpr 0.00001 log log2    # how many different lines there are
tail -n +1 log | nestline uniq --window 1000000    # forgets a line when a million newer ones came
