# Needs nestline on the PATH, and the files orders-1 to orders-4 and list, one key a line, and orders-0.gz.
nestline which build -o orders.nest orders-[123]         # reads each once
echo order:7 | nestline which orders.nest                # KEY<TAB>NAME for each file that may have it
nestline which query -l orders.nest list | xargs -d '\n' grep -Fxf list    # searches only in these files
nestline which query -v orders.nest list                 # keys that are certainly in none
nestline which add orders.nest orders-4
zcat orders-0.gz | nestline which add orders.nest --name orders-0.gz -
nestline which rename orders.nest orders-1 old/orders-1
nestline which drop orders.nest orders-2 orders-3
nestline which list orders.nest                          # NAME<TAB>LINES
nestline which verify orders.nest                        # reads every byte; prints nothing: all is well
