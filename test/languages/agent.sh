#!/bin/sh
# curl: an answer whole, then a stream as it comes.
set -e
ask() {
  curl --silent --show-error --no-buffer "$OPENAI_BASE_URL/chat/completions" \
    --header 'content-type: application/json' \
    --header "authorization: Bearer $OPENAI_API_KEY" \
    --data "$1"
}
ask '{"model":"gpt-4o","messages":[{"role":"user","content":"Hello"}]}'
echo
ask '{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"Hello again"}]}'
