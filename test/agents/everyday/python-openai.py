from openai import OpenAI

client = OpenAI()
stream = client.chat.completions.create(
    model="gpt-example", messages=[{"role": "user", "content": "hello"}], stream=True
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")
print()
