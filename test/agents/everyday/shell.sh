for name in one two three; do
  curl -s "$AGENT_BASE_URL/echo?name=$name" | tee -a answers.log
  echo
done
wc -l < answers.log
