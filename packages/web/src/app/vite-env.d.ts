declare const __HOME__: 'live' | 'report'
