#include <nestline/filter.h>

#include <iostream>

int main() {
  nestline::Filter filter({.capacity = 1'000'000, .fpr = 0.01});
  if (!filter.insert("user:17")) std::cerr << "the filter is full\n";
  if (filter.may_contain("user:17")) std::cout << "look in the database\n";
  filter.erase("user:17");  // only keys that were inserted
  if (!filter.may_contain("user:17")) std::cout << "not there: no need to look\n";
}
