#include <nestline/store.h>

#include <iostream>
#include <string>

int main() {
  nestline::Store store = nestline::Store::open("users.db");
  store.put("user:17", "Ada");
  std::string value;
  if (store.get("user:17", value)) std::cout << value << '\n';
  if (!store.contains("user:18")) std::cout << "not there, and nothing was read\n";
}
