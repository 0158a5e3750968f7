"""Clients of the decision service: ``Client``, and ``AsyncClient`` for asyncio and trio."""

from clusterbandits.client.answers import (
    Alarm as Alarm,
    Arm as Arm,
    Change as Change,
    Decision as Decision,
    DecisionRecord as DecisionRecord,
    Experiment as Experiment,
    Group as Group,
    ReceivedReward as ReceivedReward,
    RewardResult as RewardResult,
    Summary as Summary,
)
from clusterbandits.client.clients import AsyncClient as AsyncClient, Client as Client
