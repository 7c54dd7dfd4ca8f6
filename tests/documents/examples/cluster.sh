export NESTLINE_CLUSTER_PASSWORD=...                                 # if the servers want one
nestline cluster create words --server 10.0.0.1:6379 --capacity 1000000 --fpr 0.001
nestline cluster push words --server 10.0.0.1:6379 words             # builds the parts here, sends them whole
nestline cluster add words --server 10.0.0.1:6379 words2             # one round trip for 16384 lines
nestline cluster query words --server 10.0.0.1:6379 list             # prints the lines that may be in it
nestline cluster info words --server 10.0.0.1:6379                   # which server has how much
nestline cluster pull words --server 10.0.0.1:6379 -o words.parts
nestline cluster query --file words.parts list                       # without a server
nestline cluster remove words --server 10.0.0.1:6379 words2          # only lines that were added
nestline cluster fit words --server 10.0.0.1:6379                    # after many were removed: less memory
nestline cluster drop words --server 10.0.0.1:6379
nestline cluster create all --server 10.0.0.1:6379 --capacity 1000000 --seed 7
nestline cluster create new --server 10.0.0.1:6379 --capacity 1000000 --seed 7
nestline cluster push new --server 10.0.0.1:6379 words2
nestline cluster merge all new --server 10.0.0.1:6379                # the same parts and seed
nestline cluster drop all --server 10.0.0.1:6379
nestline cluster drop new --server 10.0.0.1:6379
nestline cluster create open --server 10.0.0.1:6379 --capacity 1000000 --turns-over   # keys come and go
nestline cluster drop open --server 10.0.0.1:6379
