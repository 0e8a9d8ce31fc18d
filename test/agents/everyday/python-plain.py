import json
import os
import urllib.request

base = os.environ["AGENT_BASE_URL"]
for order in range(3):
    data = json.dumps({"order": order}).encode()
    request = urllib.request.Request(f"{base}/echo", data=data)
    with urllib.request.urlopen(request) as response:
        print(order, json.load(response)["random"])
