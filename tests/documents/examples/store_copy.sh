# Needs nestline on the PATH, and the store users.db, which programs may be writing.
nestline store copy users.db backup          # the whole store
nestline store copy users.db backup          # later: what is new since
nestline store verify backup
nestline store get backup user:17            # a store like any other
