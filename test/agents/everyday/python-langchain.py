from langchain_openai import ChatOpenAI

model = ChatOpenAI(model="gpt-example")
print(model.invoke("hello").content)
print("".join(chunk.text if isinstance(chunk.text, str) else chunk.text() for chunk in model.stream("again")))
