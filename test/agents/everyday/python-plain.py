import json
import os
import urllib.request

base = os.environ["AGENT_BASE_URL"]
with open("refunds.log", "a") as log:
    for order in range(3):
        data = json.dumps({"order": order}).encode()
        request = urllib.request.Request(f"{base}/echo", data=data)
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
        log.write(f"{order} {answer['number']}\n")
        print(order, answer["random"])
with open("refunds.log") as log:
    print(log.read())
