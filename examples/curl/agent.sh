#!/bin/sh
# Asks a model with curl and prints its answer as it comes.
curl --silent --show-error --no-buffer "$OPENAI_BASE_URL/chat/completions" \
  --header 'content-type: application/json' \
  --header "authorization: Bearer $OPENAI_API_KEY" \
  --data '{
    "model": "gpt-4o",
    "stream": true,
    "messages": [{ "role": "user", "content": "What is a tape?" }]
  }'
