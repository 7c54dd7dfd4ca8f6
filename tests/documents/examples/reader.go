package main

import (
	"fmt"
	"log"

	"nestline"
)

func main() {
	words, err := nestline.Open("words.nest")
	if err != nil {
		log.Fatal(err) // such as: words.nest: at byte 4088: the checksum of the header is ...
	}
	for _, word := range []string{"cuckoo", "cuckooo"} {
		if words.MayContainString(word) {
			fmt.Println(word, "may be a word: look it up")
		} else {
			fmt.Println(word, "is no word")
		}
	}
}
