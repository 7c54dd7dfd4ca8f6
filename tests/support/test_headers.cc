// Nothing. The target needs a source, so that its headers are compiled (tests/CMakeLists.txt).
