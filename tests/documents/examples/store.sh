# Needs nestline on the PATH, and the files records.tsv, keys and photo.
nestline store put users.db user:17 Ada
nestline store get users.db user:17
nestline store load users.db < records.tsv   # lines KEY<TAB>VALUE
nestline store mget users.db keys            # a key a line; prints KEY<TAB>VALUE
nestline store import files.db photo         # equal pieces of all files are stored once
nestline store export files.db photo -o copy
nestline store stats users.db
nestline store list files.db                 # name, bytes and pieces of each file
nestline store has users.db user:18 && echo "it is there"
nestline store del users.db user:18 user:19
nestline store dump users.db > copy.tsv      # what nestline store load reads
nestline store compact users.db              # wins back the bytes of what was deleted
nestline store verify users.db               # reads every byte; prints nothing: all is well
nestline store repair users.db               # where verify found damage: keeps what is whole
nestline store damaged users.db              # lists what repair has put away; --remove removes it
