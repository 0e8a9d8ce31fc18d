import os
import urllib.request

url = os.environ["AGENT_BASE_URL"] + "/echo"
with open("refunds.log", "a") as log:
    log.write(urllib.request.urlopen(url).read().decode() + "\n")
with open("refunds.log") as log:
    print(log.read())
