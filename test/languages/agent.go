// A Go client of net/http: an answer whole, then a stream line by line.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func ask(body string) *http.Response {
	url := os.Getenv("OPENAI_BASE_URL") + "/chat/completions"
	request, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	whole := ask(`{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}`)
	body, err := io.ReadAll(whole.Body)
	fmt.Println(whole.Status, string(body), err)

	stream := ask(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hello again"}]}`)
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
		fmt.Println(lines.Text())
	}
	fmt.Println(stream.Status, lines.Err())
}
