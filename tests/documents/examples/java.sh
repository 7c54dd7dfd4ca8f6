# In the sources of nestline; needs nestline on the PATH and the file words, one a line.
javac --release 17 -d build/java lib/readers/java/nestline/*.java
jar --create --file nestline.jar -C build/java .
nestline build -o words.nest --fpr 0.001 words
java -cp nestline.jar Known.java nest nets
