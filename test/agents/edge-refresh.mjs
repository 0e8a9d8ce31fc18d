// A timeout that has run out, but not yet called back, is refreshed: it must call back once, later.
let calls = 0
// Created first, so that it is due first even if the machine pauses here.
setTimeout(() => {
  console.log('early')
  late.refresh()
}, 1)
const late = setTimeout(() => console.log('late', ++calls), 5)
const busyUntil = performance.now() + 20
// Both are due by now; the early one comes first and refreshes the late one.
while (performance.now() < busyUntil);
await new Promise((resolve) => setTimeout(resolve, 60))
console.log('calls', calls)
