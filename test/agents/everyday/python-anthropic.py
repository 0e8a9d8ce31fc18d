import anthropic

client = anthropic.Anthropic()
for question in ["one", "two"]:
    message = client.messages.create(
        model="claude-example", max_tokens=100, messages=[{"role": "user", "content": question}]
    )
    print([block.to_dict().get("text") for block in message.content])
