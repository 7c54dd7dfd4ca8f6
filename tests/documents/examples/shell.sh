# Needs nestline on the PATH, and the files words, words2 and list, one key a line.
nestline build -o words.nest --fpr 0.001 --capacity 1000000 words   # with room for more
nestline query words.nest list      # prints the lines of list that may be in words
nestline query -v words.nest list   # prints the lines that certainly are not
nestline add words.nest words2
nestline info words.nest            # keys, load, growth, expected false-positive rate
nestline verify words.nest words2   # prints the lines of words2 that are missing: none
nestline build -o words2.nest --fpr 0.001 --capacity 1000000 words2
nestline merge -o both.nest words.nest words2.nest    # filters that were built alike
nestline remove words.nest words2   # only lines that were added
nestline fit words.nest             # undoes doublings that the keys no longer need
