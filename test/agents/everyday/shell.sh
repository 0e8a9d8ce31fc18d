for name in one two three; do
  curl -s "$AGENT_BASE_URL/echo?name=$name"
  echo
done
