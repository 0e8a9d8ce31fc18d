import WebSocket from 'ws'

const socket = new WebSocket(`${process.env.AGENT_BASE_URL.replace('http', 'ws')}/ws`)
socket.on('open', () => socket.send(`hello ${Math.random()}`))
socket.on('message', (data) => {
  console.log(String(data).length)
  socket.close()
})
socket.on('close', (code) => console.log('closed', code))
